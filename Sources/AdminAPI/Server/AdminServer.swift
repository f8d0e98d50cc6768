package import Logging
package import NIOCore
internal import ServiceLifecycle
package import SystemSupport
package import TokenModel

/// The control plane over HTTP. It has its own listener and event loop, so a busy data path does not delay it.
///
/// ``listen(on:gateway:lock:monitor:tokens:claim:encrypt:limits:clock:timepiece:logger:)`` comes first, so that
/// a busy port is detected before anything else starts; then ``run()``.
package final class AdminServer: Service, Sendable {
    /// Where it listens, with the port that the system chose if 0 was requested.
    package let address: AdminAddress

    let controller: AdminController
    private let listener: OperatorListener

    private init(address: AdminAddress, controller: AdminController, listener: OperatorListener) {
        self.address = address
        self.controller = controller
        self.listener = listener
    }

    /// Opens the listening socket. New connections wait for ``run()``.
    ///
    /// - Parameters:
    ///   - gateway: what operators act on.
    ///   - lock: locks and unlocks it; `nil` if nothing does.
    ///   - monitor: reports facts about the process that this module can't see.
    ///   - claim: whether an older gateway may still listen there.
    ///   - encrypt: adds TLS to a connection; `nil` for plain HTTP.
    ///   - clock: the clock that delays refusals.
    ///   - timepiece: the clocks by which sessions of the dashboard end.
    package static func listen(
        on address: AdminAddress,
        gateway: CurrentGateway,
        lock: (any GatewayLocking)? = nil,
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
            gateway: gateway,
            lock: lock,
            monitor: monitor,
            door: door,
            isEncrypted: encrypt != nil,
            limits: limits,
            timepiece: timepiece,
            logger: logger
        )
        return try await Self.listen(on: address, controller, as: .admin, claim, encrypt, limits: limits)
    }

    /// Opens another listening socket, which serves only metrics and health, without tokens.
    ///
    /// The parameters are those of
    /// ``listen(on:gateway:lock:monitor:tokens:claim:encrypt:limits:clock:timepiece:logger:)``.
    package static func listenForMetrics(
        on address: AdminAddress,
        lock: (any GatewayLocking)? = nil,
        monitor: any GatewayMonitor,
        claim: PortClaim = .first,
        limits: AdminLimits = AdminLimits(),
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let controller = AdminController(
            gateway: CurrentGateway(name: ""),
            lock: lock,
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

    /// Serves until ``stop()``, a graceful shutdown of the service group, or the task's cancellation. Then requests in
    /// progress may end within ``AdminLimits/stopGrace``. Must be called once.
    package func run() async throws {
        try await self.listener.run(stop: { self.stop() })
    }

    /// Accepts no new connections and closes those without a request. Returns at once; ``run()`` returns when the
    /// other connections have ended or the grace period is over.
    package func stop() { self.listener.stop() }

    /// Accepts only these tokens from now on, for a token file that was read again. If they differ from the previous
    /// ones, operators must sign in to the dashboard again.
    ///
    /// - Returns: whether the tokens differ.
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
    /// 0 lets the system choose a port.
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

/// The reason that the admin API can't be served. Two errors are equal when their codes are equal.
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
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The purpose of a listener.
    enum Role { case admin, metrics, login }

    /// Converts the system's error from opening a listener.
    init(listeningOn address: AdminAddress, as role: Role, _ cause: any Error) {
        let (subject, key) =
            switch role {
            case .admin: ("the admin API", "admin.address")
            case .metrics: ("the metrics listener", "metrics.address")
            case .login: ("the listener for sign-ins", "login.address")
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
