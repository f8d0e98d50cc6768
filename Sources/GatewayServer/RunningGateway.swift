internal import AdminAPI
internal import Glibc
internal import Logging
internal import ProviderClient
internal import Proxy
internal import ServiceLifecycle
internal import Settings
internal import TokenRefresh
package import UnixSignals

/// A gateway that is bound to its addresses. It serves requests once ``run()`` is called.
package struct RunningGateway: Sendable {
    let front: GatewayFront
    /// The base URLs for callers.
    let callers: [String]
    /// Runs the open part, and takes it away when the gateway is locked.
    let lock: GatewayLock
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
    let recorder: TrafficRecorder

    package var grace: Duration { self.front.settings.shutdownGrace }
    private var logger: Logger { self.front.logger }

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
        let operators: [any Service] =
            [self.admin] + (self.adminSocket.map { [$0] } ?? []) + (self.metrics.map { [$0] } ?? [])
            + (self.login.map { [$0] } ?? [])
        let hangups = HangupService(hangups: hangups) { await self.lock.whileStill(reload) }
        let callers: [any Service] = [
            hangups,
            CallerService(proxy: self.front.proxy, grace: self.grace) { requests in
                self.front.part?.engine.stopBackgroundRefreshes()
                stopping(requests)
            },
            Announcement(announce: serving),
        ]
        var configuration = ServiceGroupConfiguration(
            // Services stop in reverse order: the webhook is first in the list so that it still reports the last
            // refresh.
            services: [
                WebhookService(webhook: self.front.webhook), self.lock, self.recorder,
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
