package import TokenModel

/// The key by which upstream connections are shared: their destination and their settings.
struct UpstreamOrigin: Sendable, Hashable {
    let host: String
    let port: Int
    /// `nil`: plain TCP.
    let tls: UpstreamTLS?
    let connectTimeout: Duration
    let maxConnections: Int
    let connectionAge: Duration

    init(_ plan: RouteConfiguration) {
        self.host = plan.upstream.host
        self.port = plan.upstream.port
        self.tls = plan.upstream.tls
        self.connectTimeout = plan.timeouts.connect
        self.maxConnections = plan.maxConnections
        self.connectionAge = plan.connectionAge
    }
}

/// What one event loop has learnt about an upstream from its responses. All pools of the same server share it: they
/// differ in how connections are made, not in who responds.
final class OriginMemory {
    /// How long an HTTP/1.0 response counts as evidence of what the upstream speaks.
    private static let versionMemory = Duration.seconds(600)

    /// When the last response came, if that was an HTTP/1.0 response.
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
    /// The server that responds at an origin.
    struct Server: Hashable {
        let host: String
        let port: Int
        let speaksTLS: Bool
    }

    var server: Server { Server(host: self.host, port: self.port, speaksTLS: self.tls != nil) }
}

/// What is known of an upstream for deciding whether to ask it before a large body is sent. Asking is worth it where
/// the upstream's response to the token can't be foreseen, and where it can be expected to send `100 Continue`.
package struct Expectations {
    /// How long an upstream that accepted a token is expected to accept it again.
    package static let tokenMemory = Duration.seconds(10)
    /// How long an upstream that does not support expectations is not asked again.
    package static let refusalMemory = Duration.seconds(600)

    private struct Taken {
        var token: TokenVersion
        var at: CoarseTime
    }

    /// The last accepted tokens. Slots share places: a token that is forgotten for another slot's is asked about once
    /// more than needed.
    private var taken: [Taken?] = []
    private static let mostTaken = 1_024
    private static func place(of slot: Int) -> Int { slot & (Self.mostTaken - 1) }
    private var refusedAt: CoarseTime?

    package init() {}

    package func mayExpect(_ token: TokenVersion, slot: Int, at now: CoarseTime) -> Bool {
        if let refusedAt = self.refusedAt, now.duration(since: refusedAt) < Self.refusalMemory { return false }
        let place = Self.place(of: slot)
        guard place < self.taken.count, let taken = self.taken[place], taken.token == token else { return true }
        return now.duration(since: taken.at) >= Self.tokenMemory
    }

    /// The upstream ignored or refused an expectation.
    package mutating func refused(at now: CoarseTime) { self.refusedAt = now }

    /// The upstream accepted a token. Called for each response, so it works at most once per tick.
    package mutating func took(_ token: TokenVersion, slot: Int, at now: CoarseTime) {
        let place = Self.place(of: slot)
        if place < self.taken.count, self.taken[place]?.at == now,
            self.taken[place]?.token.generation.rawValue == token.generation.rawValue
        {
            return
        }
        while self.taken.count <= place { self.taken.append(nil) }
        self.taken[place] = Taken(token: token, at: now)
    }

    /// The upstream no longer accepts a token.
    package mutating func forget(_ token: TokenVersion, slot: Int) {
        let place = Self.place(of: slot)
        guard place < self.taken.count, self.taken[place]?.token == token else { return }
        self.taken[place] = nil
    }
}
