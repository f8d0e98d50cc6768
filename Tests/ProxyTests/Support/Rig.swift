import HTTPWire
import NIOCore
import NIOSSL
import Proxy
import Telemetry
import TestKit
import TokenModel

/// A gateway in this process, with an upstream and a source of credentials that a test plays.
struct Rig: Sendable {
    let server: ProxyServer
    let port: Int
    let upstream: Upstream
    let credentials: ScriptedCredentials

    static let account = AccountID("alice")

    /// The settings of a gateway that ``withRig(_:_:)`` starts.
    struct Setup {
        var eventLoops = 1
        var waiters = 10_000
        var credentialTimeout = Duration.seconds(15)
        var callerTimeouts = CallerTimeouts()
        /// The send buffer of the upstream's connections in bytes; `nil` leaves it to the kernel.
        var sendBuffer: Int?
        /// Whether the upstream's connections have the options of ``NarrowSocket``.
        var isNarrow = false
        /// Whether the upstream speaks TLS.
        var speaksTLS = false
        /// How many of its connections get an answer to their handshake.
        var handshakes = Int.max
        /// The authority that must vouch for the gateway at the upstream; `nil` asks the gateway for no certificate.
        var clientAuthority: String?
        /// The credential that is installed at the start; `nil` installs none.
        var credential: UpstreamCredential? = .sample()
        var accessLog: LogWriter?
        /// Makes the routes for an upstream at the given port.
        var routes: (Int) -> [RouteConfiguration] = { [.sample(port: $0)] }
        /// The callers that may use the routes; `nil` admits anyone but web pages.
        var callers: [CallerConfiguration]?
        /// The TLS settings of the TCP listener; `nil` is plain HTTP.
        var tls: CallerTLS?
        /// Collects the gateway's log at the level debug.
        var log: RecordingLog?
        /// The path of a Unix socket on which the gateway listens besides the TCP port.
        var unixSocket: String?
        /// Whether the gateway starts locked.
        var isLocked = false
        /// Whether the gateway's time stands still, but for ``Rig/pass(_:)``. The time for a connection to be made and
        /// that of credentials go on.
        var isFrozen = false
        /// Changes other limits of the configuration.
        var limits: (inout ProxyConfiguration) -> Void = { _ in }
        /// Changes the upstream's TLS configuration.
        var changeTLS: (inout TLSConfiguration) -> Void = { _ in }
    }

    /// Makes `a` one of the gateway's own hosts, so that requests may name it. No request matches this route.
    private static let ownHost = RouteConfiguration.sample(port: 1) { plan in
        plan.name = "own-host"
        plan.host = "a"
        plan.path = "/no-request-has-this-path/"
    }

    /// The routes of `setup`, followed by the rig's own route.
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

    /// Returns when everything that was sent to the gateway before has been read, but for what it leaves unread on purpose.
    /// For rigs with one event loop, which reads in order.
    func settle() async throws {
        // The kernel may deliver what was sent over other connections after what is sent below.
        let (port, upstream) = (self.port, self.upstream.port)
        try await eventually("what was sent to have arrived") {
            try Transit.sockets().allSatisfy { socket in
                let isOpening = socket.isOpening && socket.ownPort == port
                let isToGateway = socket.otherPort == port || socket.ownPort == upstream
                return !isOpening && !(isToGateway && socket.isSending)
            }
        }
        let probe = try await self.caller()
        try await probe.send("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        _ = try await probe.rest()
        probe.close()
    }

    /// Lets time pass for a frozen gateway, which has read everything that was sent before.
    func pass(_ time: Duration) async throws {
        try await self.settle()
        await self.server.pass(time)
    }

    /// Installs `credential` for its account, in the event loops and in the source of credentials.
    func install(_ credential: UpstreamCredential) {
        self.credentials.hold(credential, for: credential.account)
        self.server.apply(.installed(credential))
    }

    /// The same as ``install(_:)``, but returns when a request has left with the credential. For rigs with one event
    /// loop.
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

/// Limits how many gateways run at a time, because short timeouts are unreliable on a busy machine.
private let places = Places(6)

/// Starts a gateway, runs `test` with it, and stops it in any case.
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
        handshakes: setup.handshakes,
        clientAuthority: setup.clientAuthority,
        changeTLS: setup.changeTLS
    )
    let credentials = ScriptedCredentials()
    var plan = ProxyConfiguration(
        listeners: [.init(host: "127.0.0.1", port: 0, tls: setup.tls)]
            + (setup.unixSocket.map { [.unix(path: $0)] } ?? []),
        routes: Rig.routes(setup, upstream.port),
        callers: setup.callers,
        callerTimeouts: setup.callerTimeouts,
        waiters: setup.waiters,
        credentialTimeout: setup.credentialTimeout,
        via: Via(word: "rig"),
        eventLoops: setup.eventLoops
    )
    setup.limits(&plan)
    let server = await ProxyServer(
        plan,
        credentials: credentials,
        accessLog: setup.accessLog,
        logger: (setup.log ?? RecordingLog()).logger,
        isLocked: setup.isLocked,
        isFrozen: setup.isFrozen
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
