internal import AdminAPI
internal import Audit
internal import Glibc
internal import KillSwitch
internal import Logging
internal import ProviderClient
internal import Proxy
internal import ServiceLifecycle
internal import SignIn
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage
package import UnixSignals

/// A gateway that is bound to its addresses. It serves requests once ``run()`` is called.
package struct RunningGateway: Sendable {
    /// The base URLs for callers.
    let callers: [String]
    let proxy: ProxyServer
    let engine: RefreshEngine
    let kills: KillSwitch
    let signIns: SignInService
    let gateway: CurrentGateway
    /// The audit log for operators' actions.
    let audit: AuditTrail
    /// The providers that revoke killed tokens.
    let providers: CurrentProviders
    let webhook: Webhook
    let admin: AdminServer
    /// `nil` if the admin listener serves plain HTTP.
    let adminEncryption: CallerTLS?
    /// `nil` if it could not be opened.
    let adminSocket: AdminSocket?
    /// Where browsers sign in; `nil` if not configured.
    let login: LoginServer?
    /// `nil` if that listener serves plain HTTP.
    let loginEncryption: CallerTLS?
    /// Serves metrics and health without tokens; `nil` if not configured.
    let metrics: AdminServer?
    let keeper: EndpointKeeper
    let counts: ProgramMetrics
    let recorder: TrafficRecorder
    /// Manages the incarnations of this host.
    let incarnations: IncarnationKeeper
    let storeWatch: StoreWatch
    let room: DescriptorUsage
    /// The outcome of the last reload.
    let status: ReloadStatus
    let driver: DriverStore
    package let grace: Duration
    let logger: Logger

    /// All addresses, as text for people.
    package var addresses: String {
        let admin = "\(self.adminEncryption == nil ? "http" : "https")://\(self.admin.address)"
        let metrics = self.metrics.map { ", metrics: http://\($0.address)" } ?? ""
        let login =
            self.login.map { ", login: \(self.loginEncryption == nil ? "http" : "https")://\($0.address)" } ?? ""
        return "callers: \(self.callers.joined(separator: " ")), admin: \(admin)\(metrics)\(login)"
    }

    /// Serves until SIGTERM or SIGINT. Then callers are disconnected first, then operators. Refreshes in progress end
    /// last, so that no grant is lost. A second signal ends the program at once.
    ///
    /// - Parameters:
    ///   - hangups: every SIGHUP since the program began.
    ///   - reload: called for each SIGHUP, one after another.
    ///   - serving: called once signals are handled and callers are served.
    ///   - stopping: called with the number of requests in progress once no more are accepted.
    ///   - abandoning: called when a second signal ends the process before all refreshes have ended.
    package func run(
        onEachOf hangups: UnixSignalsSequence,
        _ reload: @escaping @Sendable () async -> Void,
        serving: @escaping @Sendable () async -> Void,
        stopping: @escaping @Sendable (_ requests: Int) -> Void,
        abandoning: @escaping @Sendable () -> Void
    ) async throws {
        let kills = KillService(kills: self.kills)
        let engine = EngineService(
            engine: self.engine,
            kills: self.kills,
            keeper: self.keeper,
            incarnations: self.incarnations,
            storeWatch: self.storeWatch,
            driver: self.driver,
            logger: self.logger
        )
        let operators: [any Service] =
            [self.admin] + (self.adminSocket.map { [$0] } ?? []) + (self.metrics.map { [$0] } ?? [])
            + (self.login.map { [$0] } ?? [])
        let hangups = HangupService(hangups: hangups, action: reload)
        let callers: [any Service] = [
            hangups,
            CallerService(proxy: self.proxy, grace: self.grace) { requests in
                self.engine.stopBackgroundRefreshes()
                stopping(requests)
            },
            Announcement(announce: serving),
        ]
        var configuration = ServiceGroupConfiguration(
            // Services stop in reverse order: the webhook is first in the list so that it still reports the last
            // refresh.
            services: [
                WebhookService(webhook: self.webhook), engine, kills,
                AuditService(audit: self.audit, gateway: self.gateway),
                SignIns(service: self.signIns), self.recorder,
            ] + operators + callers,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: self.logger
        )
        // A reload may have set answer_timeout to its largest allowed value.
        let answerTimeout = ProviderSettings.longestAnswerTimeout
        configuration.maximumGracefulShutdownDuration = self.grace + answerTimeout + .seconds(30)
        let secondSignal = Task { await Self.exitAtSecondSignal(abandoning) }
        try await ServiceGroup(configuration: configuration).run()
        secondSignal.cancel()
        withExtendedLifetime(hangups) {}
    }

    /// An operator who sends a second signal wants to wait neither for requests nor for providers.
    private static func exitAtSecondSignal(_ abandoning: @Sendable () -> Void) async {
        var count = 0
        for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
            count += 1
            guard count > 1 else { continue }
            abandoning()
            _exit(signal == .sigint ? 128 + SIGINT : 128 + SIGTERM)
        }
    }
}

/// Runs the refresh engine as long as anything may need a credential.
private struct EngineService: Service {
    let engine: RefreshEngine
    /// Has stopped before this service stops.
    let kills: KillSwitch
    let keeper: EndpointKeeper
    let incarnations: IncarnationKeeper
    let storeWatch: StoreWatch
    let driver: DriverStore
    let logger: Logger

    func run() async throws {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.keeper.run() }
            tasks.addTask { await self.incarnations.run() }
            tasks.addTask { await self.storeWatch.run() }
            tasks.addTask { [logger = self.logger] in
                await self.driver.run { progress in
                    logger.notice(
                        "the move of the records is done: take previous out of the configuration",
                        metadata: ["records.moved": .stringConvertible(progress.moved)]
                    )
                }
            }
            await withGracefulShutdownHandler {
                await self.engine.run()
            } onGracefulShutdown: {
                self.engine.stop()
                let count = self.engine.flightCount
                guard count > 0 else { return }
                self.logger.notice(
                    "waiting for providers' answers to token requests that were sent, up to answer_timeout",
                    metadata: ["refreshes.count": .stringConvertible(count)]
                )
            }
            await self.keeper.shutDown()
            await self.driver.flush()
            tasks.cancelAll()
        }
        // If the service was canceled, callers may still be served. Then the incarnation ends only with its process.
        if !Task.isCancelled { await self.incarnations.end(leavesNothing: self.kills.hasLeft) }
        await self.driver.close()
    }
}

/// Runs the kill switch as long as a token may be put into a request.
private struct KillService: Service {
    let kills: KillSwitch

    func run() async throws {
        await withGracefulShutdownHandler {
            await self.kills.run()
        } onGracefulShutdown: {
            self.kills.stop()
        }
    }
}

/// Records wrong admin tokens, and kills that had to wait for the store, as long as the store is open.
private struct AuditService: Service {
    let audit: AuditTrail
    let gateway: CurrentGateway

    func run() async throws {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.gateway.open?.recordKeptKills() }
            await withGracefulShutdownHandler {
                await self.audit.run()
            } onGracefulShutdown: {
                self.audit.stop()
            }
            tasks.cancelAll()
        }
    }
}

/// Exchanges the answers of sign-ins for tokens as long as they can be recorded and stored.
private struct SignIns: Service {
    let service: SignInService

    func run() async throws {
        await withGracefulShutdownHandler {
            await self.service.run()
        } onGracefulShutdown: {
            self.service.stop()
        }
    }
}

/// Reports events to operators as long as there may be any.
private struct WebhookService: Service {
    let webhook: Webhook

    func run() async throws {
        await withGracefulShutdownHandler {
            await self.webhook.run()
        } onGracefulShutdown: {
            self.webhook.stop()
        }
    }
}

/// Announces that the gateway serves, after all services before it have started.
private struct Announcement: Service {
    let announce: @Sendable () async -> Void

    func run() async throws {
        await self.announce()
        try? await gracefulShutdown()
    }
}

/// Runs the data path.
private struct CallerService: Service {
    let proxy: ProxyServer
    let grace: Duration
    let stopping: @Sendable (_ requests: Int) -> Void

    func run() async throws {
        await withTaskGroup { tasks in
            tasks.addTask { await self.proxy.run() }
            tasks.addTask {
                try? await gracefulShutdown()
                self.stopping(await self.proxy.requestCount())
                _ = await self.proxy.shutDown(grace: self.grace)
            }
            await tasks.waitForAll()
        }
    }
}

/// Handles SIGHUP. Operators send it after a change of the configuration or a certificate. A closing terminal sends it
/// too.
package enum Hangup {
    /// Keeps SIGHUP from ending the process while it starts.
    package static func ignore() {
        _ = signal(SIGHUP, SIG_IGN)
    }
}

/// Runs an action for each SIGHUP, one after another, until the gateway stops.
struct HangupService: Service {
    /// The signal is trapped from the sequence's creation on. It can't end the process as long as the sequence is
    /// retained.
    let hangups: UnixSignalsSequence
    let action: @Sendable () async -> Void

    func run() async throws {
        for await _ in self.hangups.cancelOnGracefulShutdown() { await self.action() }
    }
}
