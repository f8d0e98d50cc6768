internal import FoundationEssentials
package import TokenModel

/// An event on its way to whoever is told. However often it is sent, its id is the same.
package struct Alert: Equatable, Sendable {
    package let id: AlertID
    package let event: RefreshEvent

    package init(_ event: RefreshEvent, id: AlertID = .random()) {
        self.id = id
        self.event = event
    }

    /// What is posted: a JSON object.
    ///
    /// - Parameter replica: who says so.
    func body(replica: String) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Text and nothing else: it always encodes.
        return (try? encoder.encode(Content(self, replica: replica))).map { Array($0) } ?? []
    }

    /// Every member is always there; the account is `null` for what concerns all of a provider's.
    private struct Content: Encodable {
        private enum Key: String, CodingKey { case id, event, time, provider, account, reason, replica }

        private let alert: Alert
        private let replica: String

        init(_ alert: Alert, replica: String) {
            self.alert = alert
            self.replica = replica
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.alert.id.rawValue, forKey: .id)
            try members.encode(self.alert.event.kind.rawValue, forKey: .event)
            try members.encode(self.alert.event.at.rfc3339, forKey: .time)
            try members.encode(self.alert.event.provider.rawValue, forKey: .provider)
            try members.encode(self.alert.event.account?.rawValue, forKey: .account)
            try members.encode(self.alert.event.reason, forKey: .reason)
            try members.encode(self.replica, forKey: .replica)
        }
    }
}

/// Tells alerts apart, so that one that is sent twice can be taken once.
package struct AlertID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}
