internal import TokenModel

/// The last hour of the responding process. Other replicas have their own.
struct HistoryResponse: Encodable, Sendable {
    let intervalSeconds: Int64
    let samples: [Sample]

    init(_ history: GatewayHistory) {
        self.intervalSeconds = history.interval.components.seconds
        self.samples = history.samples.map(Sample.init)
    }

    private enum Key: String, CodingKey {
        case intervalSeconds = "interval_seconds"
        case samples
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.intervalSeconds, forKey: .intervalSeconds)
        try members.encode(self.samples, forKey: .samples)
    }

    struct Sample: Encodable, Sendable {
        let sample: GatewayHistory.Sample

        private enum Key: String, CodingKey {
            case at, requests, refreshes, waiters
            case clientErrors = "client_errors"
            case serverErrors = "server_errors"
            case refreshFailures = "refresh_failures"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.sample.end.rfc3339, forKey: .at)
            try members.encode(self.sample.requests, forKey: .requests)
            try members.encode(self.sample.clientErrors, forKey: .clientErrors)
            try members.encode(self.sample.serverErrors, forKey: .serverErrors)
            try members.encode(self.sample.refreshes, forKey: .refreshes)
            try members.encode(self.sample.refreshFailures, forKey: .refreshFailures)
            try members.encode(self.sample.waiters, forKey: .waiters)
        }
    }
}
