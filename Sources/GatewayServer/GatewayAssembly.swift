internal import AdminAPI
internal import Audit
package import Logging
internal import NIOPosix
internal import Proxy
package import Settings
package import SystemSupport
package import Telemetry
internal import TokenModel
internal import TokenStorage

/// Wires the modules together: settings in, a gateway out that holds its addresses and is ready to run.
///
/// A gateway has two parts. The front listens and answers as long as the process runs (``GatewayFront``). The open part
/// has the store, its keys and all tokens, and goes when the gateway is locked (``OpenPart``).
///
/// Everything that can keep a gateway from starting, such as a key that doesn't fit or a busy port, fails here, before
/// anything runs. A step that acquires something pushes its release to ``CleanupStack``. If a later step fails, the
/// releases run in reverse order.
package struct GatewayAssembly {
    let front: GatewayFront
    let claim: PortClaim
    var cleanup = CleanupStack()

    var settings: GatewaySettings { self.front.settings }
    var logger: Logger { self.front.logger }

    /// Builds a gateway.
    ///
    /// - Parameters:
    ///   - path: the configuration file, which ``Reloader/reload()`` reads again.
    ///   - claim: `.successor` to share the ports of an older gateway of this user.
    ///   - acceptsOlderStore: whether a store that lacks known kills is repaired instead of refused.
    ///   - threshold: the log level, which a reload changes.
    package static func assemble(
        _ settings: GatewaySettings,
        from path: String,
        ports claim: PortClaim,
        acceptsOlderStore: Bool,
        log: LogWriter,
        threshold: LogThreshold,
        logger: Logger
    ) async throws(StartError) -> (RunningGateway, Reloader) {
        try StateDirectory.make(settings.stateDirectory)
        StateDirectory.warnIfExposed(settings.stateDirectory, logger: logger)
        var assembly = GatewayAssembly(
            front: try await GatewayFront(settings, acceptsOlderStore: acceptsOlderStore, log: log, logger: logger),
            claim: claim
        )
        do throws(StartError) {
            let gateway = try await assembly.assemble()
            return (gateway, Reloader(path: path, gateway: gateway, threshold: threshold))
        } catch {
            await assembly.cleanup.unwind()
            throw error
        }
    }

    private mutating func assemble() async throws(StartError) -> RunningGateway {
        let (front, lock) = (self.front, GatewayLock(self.front))
        let start = try await GatewayStart(front)
        self.cleanup.push { await start.abandon() }
        let takeover = try await self.announceTakeover(in: start.opening?.audit)
        // Callers who connect from now on wait for the first credentials.
        if let part = start.part {
            front.connect(to: part)
            front.proxy.unlock()
        }
        let callers = try await self.bind(front.proxy)
        let recorder = TrafficRecorder(front.proxy, front.metrics.refreshes, timepiece: .system)
        let monitor = ProgramMonitor(front: front, listeners: callers, recorder: recorder)
        let encryption = try CallerTLS(self.settings.admin)
        let admin = try await self.listenForOperators(lock, monitor, encryption)
        let metricsServer = try await self.listenForMetrics(lock, monitor)
        let loginEncryption = try CallerTLS(self.settings.login)
        let login = try await self.listenForBrowsers(loginEncryption)
        // Once nothing else can fail, so that no record of a replica is left behind, and before anybody is served: a kill
        // holds from the first request on.
        lock.begin(try await start.finish())
        // Last, since commands come here from now on.
        let socket = await self.openSocket(of: admin)
        front.budget.report(
            wanted: self.settings.limits.connections,
            isNamed: self.settings.limits.namesConnections,
            to: self.logger
        )
        if self.claim == .successor, takeover == nil {
            let by = AuditActor.gateway("serve --takeover")
            await lock.add(AuditNote(action: .takeover, outcome: "done", detail: nil, by: by))
        }
        if let takeover { await start.opening?.audit.end(takeover, "done") }
        return RunningGateway(
            front: front,
            callers: zip(callers, self.settings.listeners).map { address, listener in
                address.hasPrefix("unix:") ? address : "\(listener.tls == nil ? "http" : "https")://\(address)"
            },
            lock: lock,
            admin: admin,
            adminEncryption: encryption,
            adminSocket: socket,
            login: login,
            loginEncryption: loginEncryption,
            metrics: metricsServer,
            recorder: recorder
        )
    }

    /// Records a takeover before a port is shared with the older gateway.
    ///
    /// - Parameter audit: `nil` for a gateway that begins locked.
    /// - Returns: `nil` for an ordinary start.
    private mutating func announceTakeover(in audit: AuditTrail?) async throws(StartError) -> AuditTicket? {
        guard self.claim == .successor, let audit else { return nil }
        do throws(AuditError) {
            let ticket = try await audit.begin(.takeover, by: .gateway("serve --takeover"))
            self.cleanup.push { await audit.end(ticket, "failed") }
            return ticket
        } catch {
            throw StartError(.unavailable, error.message)
        }
    }
}

/// The releases of what a start has acquired so far.
struct CleanupStack {
    private var releases: [@Sendable () async -> Void] = []

    /// Adds a release, which runs before all earlier ones.
    mutating func push(_ release: @escaping @Sendable () async -> Void) { self.releases.append(release) }

    /// Runs all releases, the last one first.
    mutating func unwind() async {
        while let release = self.releases.popLast() { await release() }
    }
}
