import HTTPWire
import Telemetry
import TokenModel

/// What an exchange tells those who count.
extension Exchange {
    /// An upstream's answer was judged.
    func note(_ judgement: ExchangeMachine.Answered) {
        switch judgement {
        case .hold: self.record?.replay = .held
        case .passAndRefresh: self.record?.replay = .impossible
        case .passMarkedReplayed: self.record?.replay = .refused
        case .pass where self.record?.replay.hasBeenSent == true: self.record?.replay = .answered
        case .pass, .sendAgain, .fail: break
        }
    }

    /// Why the caller gets an answer of the gateway's own, or no whole one of the upstream's.
    func note(_ error: GatewayError) {
        self.record?.error = error.code.rawValue
        self.record?.reason = error.message
        if error.fault == .upstream { self.record?.origin = self.match?.route.plan.upstream.origin }
    }

    /// The request is over, if there was one: the one place where it is counted.
    func count() {
        guard let record = self.record.take() else { return }
        self.loop.meter.ended(record, at: .now)
    }
}

extension HTTPMethod {
    /// As logs show it.
    var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .patch: "PATCH"
        case .other: "other"
        }
    }
}
