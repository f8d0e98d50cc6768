internal import TextCoding
internal import TokenModel

/// A kill as an operator orders it.
struct KillRequest: Equatable, Sendable {
    let scope: KillScope
    let reason: String
    /// How long to wait for the kill to complete; default 15 s, at most 300 s.
    let wait: Duration
    let streams: KillStreams

    private static let fields = ["scope", "reason", "wait", "streams"]
    private static let standardWait = Duration.seconds(15)
    private static let longestWait = Duration.seconds(300)

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.scope = try fields.scope("scope")
        self.reason = try fields.reason("reason")
        self.wait = try fields.durationIfPresent("wait", upTo: Self.longestWait) ?? Self.standardWait
        let streams = try fields.textIfPresent("streams") ?? KillStreams.abort.rawValue
        guard let streams = KillStreams(rawValue: streams) else {
            throw .invalidField("streams", "streams is neither \"abort\" nor \"drain\"")
        }
        self.streams = streams
        try fields.finish(expected: Self.fields)
    }
}

/// A revival as an operator orders it.
struct RevivalRequest: Equatable, Sendable {
    let scope: KillScope
    let reason: String

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.scope = try fields.scope("scope")
        self.reason = try fields.reason("reason")
        try fields.finish(expected: ["scope", "reason"])
    }
}

extension JSONFields {
    /// One of `{"all": true}`, `{"provider": NAME}` and `{"account": NAME}`.
    fileprivate mutating func scope(_ name: String) throws(AdminError) -> KillScope {
        guard let members = try self.objectIfPresent(name) else {
            throw .invalidField(
                name,
                "\(name) is missing; it is one of {\"all\": true}, {\"provider\": NAME}, {\"account\": NAME}"
            )
        }
        guard members.count == 1, let member = members.first else {
            throw .invalidField(name, "\(name) has not exactly one of all, provider and account")
        }
        switch (member.name, member.value) {
        case ("all", .boolean(true)): return .all
        case ("provider", .string(let text)): return .provider(ProviderID(try Self.plain(text, name, longest: 64)))
        case ("account", .string(let text)): return .account(AccountID(try Self.plain(text, name, longest: 256)))
        default:
            throw .invalidField(name, "\(name) is none of {\"all\": true}, {\"provider\": NAME}, {\"account\": NAME}")
        }
    }

    /// The reason that people read. It stays in the log permanently.
    mutating func reason(_ name: String) throws(AdminError) -> String {
        guard let text = try self.textIfPresent(name), text.contains(where: { !$0.isWhitespace }) else {
            throw .invalidField(name, "\(name) is missing: say in a few words why")
        }
        return text
    }
}
