internal import AdminAPI
internal import Logging
internal import Proxy
internal import Settings
internal import SystemSupport
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

    func monitor(of core: Core, _ driver: DriverStore, _ store: OpenedStore, listeners: [String]) -> ProgramMonitor {
        ProgramMonitor(
            incarnation: self.incarnation,
            startedAt: self.startedAt,
            name: self.name,
            driver: self.settings.store.driver,
            stores: driver,
            store: StoreProbe(store.store),
            storeWatch: core.storeWatch,
            listeners: listeners,
            proxy: core.proxy,
            engine: core.engine,
            webhook: core.webhook,
            kills: core.kills,
            counts: self.metrics,
            recorder: TrafficRecorder(core.proxy, self.metrics.refreshes, timepiece: core.timepiece),
            status: self.status
        )
    }

    mutating func listenForOperators(
        _ core: Core,
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
                gateway: core.gateway,
                monitor: monitor,
                tokens: tokens,
                claim: self.claim,
                encrypt: encryption.map { tls in { @Sendable channel in try tls.encrypt(channel) } },
                limits: AdminLimits(connections: core.budget.operators, stopGrace: .seconds(5)),
                timepiece: core.timepiece,
                logger: self.logger
            )
            self.cleanup.push { await Self.close(admin) }
            return admin
        } catch {
            throw StartError(error)
        }
    }

    mutating func listenForMetrics(
        _ core: Core,
        _ monitor: ProgramMonitor
    ) async throws(StartError) -> AdminServer? {
        guard let settings = self.settings.metrics else { return nil }
        do throws(AdminServerError) {
            let server = try await AdminServer.listenForMetrics(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                monitor: monitor,
                claim: self.claim,
                limits: AdminLimits(connections: core.budget.operators, stopGrace: .seconds(5)),
                logger: self.logger
            )
            self.cleanup.push { await Self.close(server) }
            return server
        } catch {
            throw StartError(error)
        }
    }

    mutating func listenForBrowsers(
        _ core: Core,
        _ encryption: CallerTLS?
    ) async throws(StartError) -> LoginServer? {
        guard let settings = self.settings.login else { return nil }
        do throws(AdminServerError) {
            let server = try await LoginServer.listen(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                signIns: { core.gateway.open?.signIns },
                redirectURI: settings.redirectURI.text,
                claim: self.claim,
                encrypt: encryption.map { tls in { @Sendable channel in try tls.encrypt(channel) } },
                timepiece: core.timepiece,
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
