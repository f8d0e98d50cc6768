internal import FoundationEssentials
internal import TextCoding
package import TokenModel

/// An event, or events of a family, to send to the webhook. Its ID stays the same however often it is sent.
package struct Alert: Equatable, Sendable {
    package let id: AlertID
    package let event: RefreshEvent
    /// `nil` if this is a single event. Otherwise ``event`` is the first of these.
    private let sum: EventDigest.Sum?

    package init(_ event: RefreshEvent, id: AlertID = .random()) {
        (self.id, self.event, self.sum) = (id, event, nil)
    }

    package init(_ sum: EventDigest.Sum, id: AlertID = .random()) {
        (self.id, self.event, self.sum) = (id, sum.first, sum)
    }

    /// The JSON object that is posted.
    ///
    /// - Parameter replica: the name of the sending process.
    func body(replica: String) -> [UInt8] {
        // It holds only strings and whole numbers, so it always encodes.
        return (try? JSONText.encode(Content(self, replica: replica))) ?? []
    }

    /// The command that helps the account, for people to copy; `nil` where no single command does.
    private var command: String? {
        if let sum = self.sum, sum.accounts.count > 1 {
            guard self.event.kind == .reauthorizationRequired else { return nil }
            return "martlet accounts list --prefix \(sum.family.prefix) --state \(self.event.kind.rawValue)"
        }
        guard let account = self.event.account else { return nil }
        return switch self.event.kind {
        case .reauthorizationRequired: "martlet login \(ShellWord.quoted(account.rawValue))"
        case .approvalRequired: "martlet approve \(ShellWord.quoted(account.rawValue))"
        case .providerConfig, .refusedWithoutReason, .refreshFailed: nil
        }
    }

    /// Every member is always present, but for those that only events of a family have. The account is `null` for an
    /// event that concerns a whole provider or a family, and the command for an event that no single command ends.
    private struct Content: Encodable {
        private enum Key: String, CodingKey {
            case id, event, time, provider, account, reason, command, replica
            case family, accounts, count
        }

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
            try members.encode(self.alert.sum == nil ? self.alert.event.account?.rawValue : nil, forKey: .account)
            try members.encode(self.alert.event.reason, forKey: .reason)
            try members.encode(self.alert.command, forKey: .command)
            try members.encode(self.replica, forKey: .replica)
            guard let sum = self.alert.sum else { return }
            try members.encode(sum.family.description, forKey: .family)
            try members.encode(sum.accounts.map(\.rawValue), forKey: .accounts)
            try members.encode(sum.count, forKey: .count)
        }
    }
}

/// Identifies an alert, so that a receiver can drop a duplicate.
package struct AlertID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}
