internal import AdminAPI
internal import Logging
internal import Proxy
internal import Settings
internal import SystemSupport
internal import TokenModel
internal import TokenStorage

/// The addresses that a gateway listens on, for callers and for operators.
extension GatewayAssembly {
    /// - Returns: the addresses that callers connect to.
    mutating func bind(_ proxy: ProxyServer) async throws(StartError) -> [String] {
        do throws(ProxyError) {
            let addresses = try await proxy.bind(self.claim).map(\.description)
            self.cleanup.push { _ = await proxy.shutDown(grace: .zero) }
            return addresses
        } catch {
            throw StartError(error)
        }
    }

    mutating func listenForOperators(
        _ lock: GatewayLock,
        _ monitor: ProgramMonitor,
        _ encryption: CallerTLS?
    ) async throws(StartError) -> AdminServer {
        let settings = self.settings.admin
        let tokens: AdminTokens
        do throws(AdminTokenError) {
            tokens = try AdminTokenFile(
                path: settings.tokenFile,
                stateDirectory: self.settings.stateDirectory
            ).open()
        } catch {
            throw StartError(error)
        }
        do throws(AdminServerError) {
            let admin = try await AdminServer.listen(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                gateway: self.front.gateway,
                lock: lock,
                monitor: monitor,
                tokens: tokens,
                claim: self.claim,
                encrypt: encryption.map { tls in { @Sendable channel in try tls.encrypt(channel) } },
                limits: AdminLimits(connections: self.front.budget.operators, stopGrace: .seconds(5)),
                timepiece: .system,
                logger: self.logger
            )
            self.cleanup.push { await Self.close(admin) }
            return admin
        } catch {
            throw StartError(error)
        }
    }

    mutating func listenForMetrics(
        _ lock: GatewayLock,
        _ monitor: ProgramMonitor
    ) async throws(StartError) -> AdminServer? {
        guard let settings = self.settings.metrics else { return nil }
        do throws(AdminServerError) {
            let server = try await AdminServer.listenForMetrics(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                lock: lock,
                monitor: monitor,
                claim: self.claim,
                limits: AdminLimits(connections: self.front.budget.operators, stopGrace: .seconds(5)),
                logger: self.logger
            )
            self.cleanup.push { await Self.close(server) }
            return server
        } catch {
            throw StartError(error)
        }
    }

    mutating func listenForBrowsers(
        _ encryption: CallerTLS?
    ) async throws(StartError) -> LoginServer? {
        guard let settings = self.settings.login else { return nil }
        do throws(AdminServerError) {
            let server = try await LoginServer.listen(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                signIns: { [gateway = self.front.gateway] in gateway.open?.signIns },
                redirectURI: settings.redirectURI.text,
                claim: self.claim,
                encrypt: encryption.map { tls in { @Sendable channel in try tls.encrypt(channel) } },
                timepiece: .system,
                logger: self.logger
            )
            self.cleanup.push {
                server.stop()
                try? await server.run()
            }
            return server
        } catch {
            throw StartError(error)
        }
    }

    /// Opens the socket for commands on this machine. A gateway starts without it too: operators can use the port.
    func openSocket(of admin: AdminServer) async -> AdminSocket? {
        let path = self.settings.admin.socket
        do {
            let limits = AdminLimits(connections: 64, stopGrace: .seconds(5))
            return try await AdminSocket.listen(beside: path, with: admin, limits: limits)
        } catch {
            LinkedSocket.removeDeadLink(path)
            self.logger.warning(
                "there is no admin socket, so commands need a token and the port",
                metadata: ["error.reason": "\(error)"]
            )
            return nil
        }
    }

    /// Closes a listener that has served nobody.
    private static func close(_ server: AdminServer) async {
        server.stop()
        try? await server.run()
    }
}
