package import TokenModel

/// What upstream connections are shared by: where they go, and on what terms.
struct UpstreamOrigin: Sendable, Hashable {
    let host: String
    let port: Int
    /// `nil`: plain TCP.
    let tls: UpstreamTLS?
    let connectTimeout: Duration
    let maxConnections: Int

    init(_ plan: RouteConfiguration) {
        self.host = plan.upstream.host
        self.port = plan.upstream.port
        self.tls = plan.upstream.tls
        self.connectTimeout = plan.timeouts.connect
        self.maxConnections = plan.maxConnections
    }
}

/// What one event loop has learnt of an upstream from its answers. All pools of its host and port share it: what differs
/// between them is how connections are made, not who answers.
final class OriginMemory {
    /// How long an answer of HTTP/1.0 tells what the upstream speaks.
    private static let versionMemory = Duration.seconds(600)

    /// When the last answer came, if it was one of HTTP/1.0.
    private var sawHTTP10: CoarseTime?
    var expectations = Expectations()

    func responded(minorVersion: UInt8, at now: CoarseTime) {
        self.sawHTTP10 = minorVersion == 0 ? now : nil
    }

    func speaksHTTP10(at now: CoarseTime) -> Bool {
        guard let sawHTTP10 = self.sawHTTP10 else { return false }
        return now.duration(since: sawHTTP10) < Self.versionMemory
    }
}

extension UpstreamOrigin {
    /// Who answers there.
    struct Server: Hashable {
        let host: String
        let port: Int
        let speaksTLS: Bool
    }

    var server: Server { Server(host: self.host, port: self.port, speaksTLS: self.tls != nil) }
}

/// What is known of an upstream for the question whether a large body is worth asking for: its answer to the token
/// can't be foreseen, and it can be expected to say `100 Continue`.
package struct Expectations {
    /// How long an upstream that took a token will take it again.
    package static let tokenMemory = Duration.seconds(10)
    /// How long an upstream that knows no expectations is not asked again.
    package static let refusalMemory = Duration.seconds(600)

    private struct Taken {
        var token: TokenVersion
        var at: CoarseTime
    }

    /// By slot.
    private var taken: [Taken?] = []
    private var refusedAt: CoarseTime?

    package init() {}

    package func mayExpect(_ token: TokenVersion, slot: Int, at now: CoarseTime) -> Bool {
        if let refusedAt = self.refusedAt, now.duration(since: refusedAt) < Self.refusalMemory { return false }
        guard slot < self.taken.count, let taken = self.taken[slot], taken.token == token else { return true }
        return now.duration(since: taken.at) >= Self.tokenMemory
    }

    /// The upstream ignored an expectation, or refused it.
    package mutating func refused(at now: CoarseTime) { self.refusedAt = now }

    /// The upstream took a token. Called for each answer, so that it does nothing more than once in a tick.
    package mutating func took(_ token: TokenVersion, slot: Int, at now: CoarseTime) {
        if slot < self.taken.count, self.taken[slot]?.at == now,
            self.taken[slot]?.token.generation.rawValue == token.generation.rawValue
        {
            return
        }
        while self.taken.count <= slot { self.taken.append(nil) }
        self.taken[slot] = Taken(token: token, at: now)
    }

    /// The upstream takes it no more.
    package mutating func forget(_ token: TokenVersion, slot: Int) {
        guard slot < self.taken.count, self.taken[slot]?.token == token else { return }
        self.taken[slot] = nil
    }
}
