internal import AdminAPI
internal import Alerts
internal import Audit
internal import Glibc
internal import KillSwitch
internal import Logging
internal import ProviderClient
internal import Proxy
internal import ServiceLifecycle
internal import TokenModel
internal import TokenRefresh
internal import UnixSignals

/// A gateway that holds its addresses. Requests are served from ``run()`` on.
struct RunningGateway {
    /// What callers use as base URLs.
    let callers: [String]
    let proxy: ProxyServer
    let engine: RefreshEngine
    let kills: KillSwitch
    /// What operators do is recorded there.
    let audit: AuditTrail
    /// Those that killed tokens are revoked at.
    let providers: CurrentProviders
    let webhook: Webhook
    let admin: AdminServer
    /// `nil` where operators speak plain HTTP.
    let adminEncryption: CallerTLS?
    /// `nil` where there can be none.
    let adminSocket: AdminSocket?
    /// Where metrics and health are served without tokens; `nil` where that is not wanted.
    let metrics: AdminServer?
    let keeper: EndpointKeeper
    let counts: ProgramMetrics
    /// This boot among those of this host; `nil` where it can have no lock.
    let incarnations: IncarnationKeeper
    let room: DescriptorRoom
    /// Where a reload leaves what came of it.
    let status: ReloadStatus
    /// Closes the store, after the last who writes to it.
    let closeStore: @Sendable () async -> Void
    let grace: Duration
    let logger: Logger

    /// Serves until SIGTERM or SIGINT. Then callers are let go first, then operators; refreshes under way end last, so
    /// that no grant is lost on the way out. A second signal ends the program at once.
    ///
    /// - Parameters:
    ///   - hangups: each SIGHUP since the program began.
    ///   - reload: called with each of them, and awaited before the next.
    ///   - serving: called when signals are heeded and callers served.
    ///   - stopping: called with the number of requests under way when no more are taken.
    func run(
        onEachOf hangups: UnixSignalsSequence,
        _ reload: @escaping @Sendable () async -> Void,
        serving: @escaping @Sendable () async -> Void,
        stopping: @escaping @Sendable (_ requests: Int) -> Void
    ) async throws {
        let kills = KillService(kills: self.kills)
        let engine = EngineService(
            engine: self.engine,
            kills: self.kills,
            keeper: self.keeper,
            incarnations: self.incarnations,
            closeStore: self.closeStore,
            logger: self.logger
        )
        let operators: [any Service] =
            [self.admin] + (self.adminSocket.map { [$0] } ?? []) + (self.metrics.map { [$0] } ?? [])
        let hangups = HangupService(hangups: hangups, action: reload)
        let callers: [any Service] = [
            hangups,
            CallerService(proxy: self.proxy, grace: self.grace) { requests in
                self.engine.stopErrands()
                stopping(requests)
            },
            Announcement(announce: serving),
        ]
        var configuration = ServiceGroupConfiguration(
            // Whoever is told of events hears of the last refresh too.
            services: [WebhookService(webhook: self.webhook), engine, kills, AuditService(audit: self.audit)]
                + operators + callers,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: self.logger
        )
        // A reload may have made it as long as it may be.
        let answerTimeout = ProviderSettings.longestAnswerTimeout
        configuration.maximumGracefulShutdownDuration = self.grace + answerTimeout + .seconds(30)
        let impatience = Task { await Self.exitAtSecondSignal() }
        try await ServiceGroup(configuration: configuration).run()
        impatience.cancel()
        withExtendedLifetime(hangups) {}
    }

    /// Whoever asks twice does not want to wait: neither for requests nor for providers.
    private static func exitAtSecondSignal() async {
        var count = 0
        for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
            count += 1
            guard count > 1 else { continue }
            Console.report("stopped at once by a second signal: what a provider answers from now on is lost")
            _exit(signal == .sigint ? 128 + SIGINT : 128 + SIGTERM)
        }
    }
}

/// The refresh engine for as long as anyone may need a credential.
private struct EngineService: Service {
    let engine: RefreshEngine
    /// It has ended when this does.
    let kills: KillSwitch
    let keeper: EndpointKeeper
    let incarnations: IncarnationKeeper
    let closeStore: @Sendable () async -> Void
    let logger: Logger

    func run() async throws {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.keeper.run() }
            tasks.addTask { await self.incarnations.run() }
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
            tasks.cancelAll()
        }
        // Where the service was cut off, callers may still be served: this incarnation is dead when its process is.
        if !Task.isCancelled { await self.incarnations.end(leavesNothing: self.kills.hasLeft) }
        await self.closeStore()
    }
}

/// The kill switch for as long as anyone may have a token put into a request.
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

/// Records wrong admin tokens, for as long as the store is open.
private struct AuditService: Service {
    let audit: AuditTrail

    func run() async throws {
        await withGracefulShutdownHandler {
            await self.audit.run()
        } onGracefulShutdown: {
            self.audit.stop()
        }
    }
}

/// Tells operators of events for as long as there may be some.
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

/// Says that the gateway serves, once all services before it were started.
private struct Announcement: Service {
    let announce: @Sendable () async -> Void

    func run() async throws {
        await self.announce()
        try? await gracefulShutdown()
    }
}

/// The data path.
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

/// SIGHUP, which operators send when the configuration or a certificate has changed, and a closing terminal sends too.
enum Hangup {
    /// Keeps it from ending the process while that starts.
    static func ignore() {
        _ = signal(SIGHUP, SIG_IGN)
    }
}

/// Has something done with each SIGHUP, one after the other, until the gateway is told to stop.
struct HangupService: Service {
    /// Trapped from the moment it is made. Whoever holds this to the end keeps the signal from ending the process.
    let hangups: UnixSignalsSequence
    let action: @Sendable () async -> Void

    func run() async throws {
        for await _ in self.hangups.cancelOnGracefulShutdown() { await self.action() }
    }
}
