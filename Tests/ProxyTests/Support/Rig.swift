import HTTPWire
import NIOCore
import NIOSSL
import Proxy
import Telemetry
import TestKit
import TokenModel

/// A gateway in this process, an upstream behind it and a source of credentials, all played by a test.
struct Rig: Sendable {
    let server: ProxyServer
    let port: Int
    let upstream: Upstream
    let credentials: ScriptedPasses

    static let account = AccountID("alice")

    /// What ``withRig(_:_:)`` starts.
    struct Setup {
        var eventLoops = 1
        var waiters = 10_000
        var credentialTimeout = Duration.seconds(15)
        var callerTimeouts = CallerTimeouts()
        /// Of the upstream's connections, in bytes.
        var sendBuffer: Int?
        /// The upstream's side of its connections, as ``NarrowSocket`` says.
        var isNarrow = false
        /// Of the upstream.
        var speaksTLS = false
        /// Who must vouch for the gateway there; `nil` asks it for no certificate.
        var clientAuthority: String?
        /// The credential that is there from the start.
        var credential: UpstreamCredential? = .sample()
        var accessLog: LogWriter?
        /// The routes, for an upstream at a port.
        var routes: (Int) -> [RouteConfiguration] = { [.sample(port: $0)] }
        /// Who may use them; `nil` for anyone but web pages.
        var callers: [CallerConfiguration]?
        /// What callers get at the port of this machine; `nil` is plain HTTP.
        var tls: CallerTLS?
        /// What the gateway says at debug.
        var log: HeardLog?
        /// Where it listens besides a port of this machine.
        var unixSocket: String?
        /// Changes other limits of the plan.
        var limits: (inout ProxyConfiguration) -> Void = { _ in }
        /// Makes other terms of TLS at the upstream.
        var changeTLS: (inout TLSConfiguration) -> Void = { _ in }
    }

    /// Makes `a` a host of the gateway's own, so that requests may name it. Nothing matches it.
    private static let ownHost = RouteConfiguration.sample(port: 1) { plan in
        plan.name = "own-host"
        plan.host = "a"
        plan.path = "/no-request-has-this-path/"
    }

    /// The routes of `setup`, and the rig's own.
    static func routes(_ setup: Setup, _ port: Int) -> [RouteConfiguration] { setup.routes(port) + [self.ownHost] }

    func caller(receiveBuffer: Int? = nil, sendBuffer: Int? = nil) async throws -> Peer {
        try await Peer.connect(to: self.port, receiveBuffer: receiveBuffer, sendBuffer: sendBuffer)
    }

    /// A caller over TLS.
    func secureCaller(
        _ tls: NIOSSLContext,
        receiveBuffer: Int? = nil,
        isNarrow: Bool = false
    ) async throws -> Peer {
        try await Peer.connect(to: self.port, receiveBuffer: receiveBuffer, isNarrow: isNarrow, tls: tls)
    }

    /// Returns when all that was sent before has been read. For rigs with one event loop, which reads in order.
    func settle() async throws {
        let probe = try await self.caller()
        try await probe.send("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        _ = try await probe.rest()
        probe.close()
    }

    /// Makes `credential` the account's, for the loops and for whoever asks.
    func install(_ credential: UpstreamCredential) {
        self.credentials.hold(credential, for: credential.account)
        self.server.apply(.installed(credential))
    }

    /// As ``install(_:)``, and returns when a request has left with it. For rigs with one event loop.
    func installAndSee(_ credential: UpstreamCredential, through upstream: Peer, _ caller: Peer) async throws {
        self.install(credential)
        try await eventually("a request with the new token") {
            try await caller.send("GET /acme/probe HTTP/1.1\r\nHost: a\r\n\r\n")
            let probe = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = try await caller.head()
            return probe["Authorization"] == credential.bearer
        }
    }
}

/// A busy machine makes short timeouts lie, so tests run the gateway a few at a time.
private let places = Places(6)

/// Starts a gateway, runs `test` with it, and ends it whatever happens.
func withRig<Result>(
    _ setup: Rig.Setup = Rig.Setup(),
    _ test: (Rig) async throws -> Result
) async throws -> Result {
    await places.enter()
    defer { places.leave() }
    let upstream = try await Upstream.start(
        sendBuffer: setup.sendBuffer,
        isNarrow: setup.isNarrow,
        speaksTLS: setup.speaksTLS,
        clientAuthority: setup.clientAuthority,
        changeTLS: setup.changeTLS
    )
    let credentials = ScriptedPasses()
    var plan = ProxyConfiguration(
        listeners: [.init(host: "127.0.0.1", port: 0, tls: setup.tls)]
            + (setup.unixSocket.map { [.unix(path: $0)] } ?? []),
        routes: Rig.routes(setup, upstream.port),
        callers: setup.callers,
        callerTimeouts: setup.callerTimeouts,
        waiters: setup.waiters,
        credentialTimeout: setup.credentialTimeout,
        eventLoops: setup.eventLoops
    )
    setup.limits(&plan)
    let server = await ProxyServer(
        plan,
        credentials: credentials,
        accessLog: setup.accessLog,
        logger: (setup.log ?? HeardLog()).logger
    )
    let running = Task { await server.run() }
    let outcome: Swift.Result<Result, any Error>
    do {
        let port = try await server.bind()[0].port
        let rig = Rig(server: server, port: port, upstream: upstream, credentials: credentials)
        if let credential = setup.credential { rig.install(credential) }
        outcome = .success(try await test(rig))
    } catch {
        outcome = .failure(error)
    }
    credentials.end()
    _ = await server.shutDown(grace: .zero)
    await running.value
    try? await upstream.stop()
    return try outcome.get()
}
