package import Logging
package import NIOCore
internal import ServiceLifecycle
package import SignIn
package import SystemSupport
package import TokenModel

/// The listener where browsers sign in: it sends them to the provider and takes the provider's answers.
///
/// It serves nothing but `/login/`, needs no token and shows nothing to anybody who does not know the id of a sign-in. So
/// it can be reached by operators' browsers where the admin API can't.
///
/// ``listen(on:signIns:redirectURI:claim:encrypt:limits:timepiece:logger:)`` comes first, so that a busy port is detected
/// before anything else starts; then ``run()``.
package final class LoginServer: Service, Sendable {
    /// Where it listens, with the port that the system chose if 0 was requested.
    package let address: AdminAddress

    private let listener: OperatorListener

    private init(address: AdminAddress, listener: OperatorListener) {
        self.address = address
        self.listener = listener
    }

    /// Opens the listening socket. New connections wait for ``run()``.
    ///
    /// - Parameters:
    ///   - signIns: takes the answers, and must run for tokens to be fetched; `nil` while the gateway is locked.
    ///   - redirectURI: where providers send browsers, under `/login/`. Its origin is what browsers know the listener by,
    ///     with a proxy in front or without.
    ///   - claim: whether an older gateway may still listen there.
    ///   - encrypt: adds TLS to a connection; `nil` for plain HTTP.
    ///   - timepiece: the clocks by which a response waits for the end of a sign-in, and for the store.
    package static func listen(
        on address: AdminAddress,
        signIns: @escaping @Sendable () -> SignInService?,
        redirectURI: String,
        claim: PortClaim = .first,
        encrypt: (@Sendable (any Channel) throws -> Void)? = nil,
        limits: AdminLimits = .login,
        timepiece: Timepiece = .system,
        logger: Logger
    ) async throws(AdminServerError) -> LoginServer {
        guard let site = LoginSite(redirectURI: redirectURI) else {
            throw AdminServerError(
                .listenerFailed,
                "the listener for sign-ins (login.address) needs a login.redirect_uri whose path begins with /login/"
            )
        }
        let controller = LoginController(signIns, at: site, timepiece: timepiece, logger: logger)
        do {
            let place = OperatorListener.Place.network(address, claim, encrypt: encrypt)
            let listener = try await OperatorListener.open(place, to: controller, limits: limits)
            return LoginServer(
                address: AdminAddress(host: address.host, port: listener.port ?? address.port),
                listener: listener
            )
        } catch {
            throw AdminServerError(listeningOn: address, as: .login, error)
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
}

extension AdminLimits {
    /// The limits of the listener for sign-ins. Few people sign in at once, and each needs a handful of requests.
    package static let login = AdminLimits(
        connections: 128,
        idleTime: .seconds(15),
        stopGrace: .seconds(15)
    )
}
