package import Audit
package import KillSwitch
package import Listening
package import Logging
package import NIOCore
internal import ServiceLifecycle
package import TokenModel
package import TokenRefresh

/// The control plane over HTTP, on a listener and an event loop of its own: a busy data path does not hold it up.
///
/// ``listen(on:engine:kills:audit:monitor:tokens:claim:encrypt:limits:clock:timepiece:logger:)``
/// first, so that a busy port is known before anything else
/// starts; then ``run()``.
package final class AdminServer: Service, Sendable {
    /// Where it listens, with the port that was chosen where 0 was asked for.
    package let address: AdminAddress

    let controller: AdminController
    private let listener: OperatorListener

    private init(address: AdminAddress, controller: AdminController, listener: OperatorListener) {
        self.address = address
        self.controller = controller
        self.listener = listener
    }

    /// Opens the listening socket. Connections wait there for ``run()``.
    ///
    /// - Parameters:
    ///   - engine: what the accounts are read from and changed through; it must run for a refresh to end.
    ///   - kills: what tokens are killed and revived by; it must run for a kill to be completed.
    ///   - audit: where changes are recorded; it must run for wrong tokens to be.
    ///   - monitor: knows about the process what this room can't see.
    ///   - claim: whether an older gateway may listen there still.
    ///   - encrypt: gives a connection its TLS; `nil` for plain HTTP.
    ///   - clock: what refusals are delayed by.
    ///   - timepiece: what sessions of the dashboard end by.
    package static func listen(
        on address: AdminAddress,
        engine: RefreshEngine,
        kills: KillSwitch,
        audit: AuditTrail,
        monitor: any GatewayMonitor,
        tokens: AdminTokens,
        claim: PortClaim = .first,
        encrypt: (@Sendable (any Channel) throws -> Void)? = nil,
        limits: AdminLimits = AdminLimits(),
        clock: any Clock<Duration> = ContinuousClock(),
        timepiece: Timepiece = .system,
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let door = AdminAuthenticator(tokens, limits: limits, clock: clock, logger: logger)
        let controller = AdminController(
            engine: engine,
            kills: kills,
            audit: audit,
            monitor: monitor,
            door: door,
            isEncrypted: encrypt != nil,
            limits: limits,
            timepiece: timepiece,
            logger: logger
        )
        return try await Self.listen(on: address, controller, as: .admin, claim, encrypt, limits: limits)
    }

    /// Opens another listening socket, which serves metrics and health and nothing else, without tokens.
    ///
    /// The parameters are those of ``listen(on:engine:kills:audit:monitor:tokens:claim:encrypt:limits:clock:timepiece:logger:)``.
    package static func listenForMetrics(
        on address: AdminAddress,
        engine: RefreshEngine,
        kills: KillSwitch,
        monitor: any GatewayMonitor,
        claim: PortClaim = .first,
        limits: AdminLimits = AdminLimits(),
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let controller = AdminController(
            engine: engine,
            kills: kills,
            audit: nil,
            monitor: monitor,
            door: nil,
            limits: limits,
            logger: logger
        )
        return try await Self.listen(on: address, controller, as: .metrics, claim, nil, limits: limits)
    }

    private static func listen(
        on address: AdminAddress,
        _ controller: AdminController,
        as role: AdminServerError.Role,
        _ claim: PortClaim,
        _ encrypt: (@Sendable (any Channel) throws -> Void)?,
        limits: AdminLimits
    ) async throws(AdminServerError) -> AdminServer {
        do {
            let place = OperatorListener.Place.network(address, claim, encrypt: encrypt)
            let listener = try await OperatorListener.open(place, to: controller, limits: limits)
            return AdminServer(
                address: AdminAddress(host: address.host, port: listener.port ?? address.port),
                controller: controller,
                listener: listener
            )
        } catch {
            throw AdminServerError(listeningOn: address, as: role, error)
        }
    }

    /// Serves until ``stop()``, a graceful shutdown of the service group, or the task's cancellation; then lets the
    /// requests under way end within ``AdminLimits/stopGrace``. Call it once.
    package func run() async throws {
        try await self.listener.run(beside: { await self.controller.recordKeptKills() }, stop: { self.stop() })
    }

    /// Takes no new connections and closes those without a request. Comes back at once; ``run()`` ends when all is done.
    package func stop() { self.listener.stop() }

    /// From now on only these tokens are let in: for a token file that was read again. Where they are others, operators
    /// have to sign in to the dashboard anew.
    ///
    /// - Returns: whether they are others.
    @discardableResult
    package func replaceTokens(_ tokens: AdminTokens) -> Bool {
        guard self.controller.door?.replaceTokens(tokens) == true else { return false }
        self.controller.dashboard?.endSessions()
        return true
    }
}

/// Where the admin API is served: an IP address of this machine and a TCP port.
package struct AdminAddress: Hashable, Sendable {
    /// An IPv6 address has no brackets here.
    package let host: String
    /// 0: the system chooses one.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

extension AdminAddress: CustomStringConvertible {
    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

/// Why the admin API can't be served. Equal when the codes are equal.
package struct AdminServerError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// Another process listens there.
        case addressInUse
        /// It is not an address of this machine.
        case addressUnavailable
        /// This user may not listen there, as with ports below 1024.
        case notAllowed
        /// The system refused for another reason.
        case listenerFailed
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What a listener is for.
    enum Role { case admin, metrics }

    /// Reads what the system said when a listener was to be opened.
    init(listeningOn address: AdminAddress, as role: Role, _ cause: any Error) {
        let (subject, key) =
            switch role {
            case .admin: ("the admin API", "admin.address")
            case .metrics: ("the metrics listener", "metrics.address")
            }
        let fault = ListenFault(cause)
        let message = "\(subject) can't listen on \(address): \(fault.reason); "
        switch fault {
        case .inUse: self.init(.addressInUse, "\(message)stop the other process or change \(key)")
        case .notAllowed: self.init(.notAllowed, "\(message)change \(key)")
        case .unavailable, .other: self.init(.addressUnavailable, "\(message)change \(key)")
        case .system: self.init(.listenerFailed, "\(message)change \(key)")
        }
    }
}

extension AdminServerError: Equatable {
    package static func == (left: AdminServerError, right: AdminServerError) -> Bool { left.code == right.code }
}
