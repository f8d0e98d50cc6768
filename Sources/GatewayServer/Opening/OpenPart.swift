internal import AdminAPI
internal import Approvals
internal import Audit
internal import KillSwitch
internal import Logging
internal import ServiceLifecycle
internal import SignIn
internal import Synchronization
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The part of a gateway that has the sealing key: the store, the tokens, and all that works on them. It goes when the
/// gateway is locked or ends, and nothing of it stays.
final class OpenPart: Sendable {
    /// What it consists of.
    struct Members: Sendable {
        /// A new value for each time that the gateway opens its store.
        let incarnation: IncarnationID
        let driver: DriverStore
        let probe: StoreProbe
        let storeWatch: StoreWatch
        /// Manages the incarnations of this host.
        let incarnations: IncarnationKeeper
        /// The audit log for operators' actions.
        let audit: AuditTrail
        let keeper: EndpointKeeper
        /// The providers, which also revoke killed tokens.
        let providers: CurrentProviders
        let kills: KillSwitch
        let fence: ProcessFence
        let engine: RefreshEngine
        let signIns: SignInService
        let approvals: ApprovalService
        /// What operators act on.
        let gateway: OpenGateway
    }

    private struct State {
        var services: ServiceGroup?
        var isStopped = false
        var hasEnded = false
    }

    private let members: Members
    private let logger: Logger
    private let state = Mutex(State())

    init(_ members: Members, logger: Logger) {
        self.members = members
        self.logger = logger
    }

    var incarnation: IncarnationID { self.members.incarnation }
    var driver: DriverStore { self.members.driver }
    var probe: StoreProbe { self.members.probe }
    var storeWatch: StoreWatch { self.members.storeWatch }
    var audit: AuditTrail { self.members.audit }
    var keeper: EndpointKeeper { self.members.keeper }
    var providers: CurrentProviders { self.members.providers }
    var kills: KillSwitch { self.members.kills }
    var engine: RefreshEngine { self.members.engine }
    var approvals: ApprovalService { self.members.approvals }
    var gateway: OpenGateway { self.members.gateway }

    /// Works until ``stop()``, or a graceful shutdown of the task's services. Then refreshes in progress end last, so that no
    /// grant is lost; after them the store is closed.
    ///
    /// - Throws: if a service ends before that.
    func run() async throws {
        let members = self.members
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // Services stop in reverse order.
                services: [
                    EngineService(part: members, logger: self.logger), KillService(kills: members.kills),
                    AuditService(part: members), SignIns(service: members.signIns),
                    ApprovalFollower(service: members.approvals),
                ],
                logger: self.logger
            )
        )
        let isStopped = self.state.withLock { state in
            state.services = services
            return state.isStopped
        }
        if isStopped { await services.triggerGracefulShutdown() }
        defer {
            self.release()
            self.state.withLock { state in
                state.services = nil
                state.hasEnded = true
            }
        }
        try await services.run()
    }

    /// Lets go of what refers to itself in a circle, so that nothing of the part stays.
    func release() { self.members.fence.disconnect() }

    /// Has ``run()`` return. A refresh in progress may take as long as its provider does.
    func stop() async {
        let services = self.state.withLock { state in
            state.isStopped = true
            return state.services
        }
        await services?.triggerGracefulShutdown()
    }

    /// Whether ``run()`` has returned, so that all is stored and closed.
    var hasEnded: Bool { self.state.withLock { $0.hasEnded } }
}

/// A group of services names each of them by its text, which would otherwise be all that it consists of.
extension OpenPart.Members: CustomStringConvertible {
    var description: String { "the open part" }
}

/// Runs the refresh engine as long as anything may need a credential, then closes the store.
private struct EngineService: Service {
    let part: OpenPart.Members
    let logger: Logger

    func run() async throws {
        let (part, logger) = (self.part, self.logger)
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await part.keeper.run() }
            tasks.addTask { await part.incarnations.run(part.driver.store) }
            tasks.addTask { await part.storeWatch.run() }
            tasks.addTask {
                await part.driver.run { progress in
                    logger.notice(
                        "the move of the records is done: take previous out of the configuration",
                        metadata: ["records.moved": .stringConvertible(progress.moved)]
                    )
                }
            }
            await withGracefulShutdownHandler {
                await part.engine.run()
                // A lock at once may end the engine before its turn. The other services use the store until they have ended.
                try? await gracefulShutdown()
            } onGracefulShutdown: {
                part.engine.stop()
                let count = part.engine.flightCount
                guard count > 0 else { return }
                logger.notice(
                    "waiting for providers' answers to token requests that were sent, up to answer_timeout",
                    metadata: ["refreshes.count": .stringConvertible(count)]
                )
            }
            await part.keeper.shutDown()
            await part.driver.flush()
            tasks.cancelAll()
        }
        // If the service was canceled, callers may still be served. Then the incarnation ends only with its process.
        if !Task.isCancelled { await part.incarnations.end(leavesNothing: part.kills.hasLeft) }
        await part.driver.close()
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
    let part: OpenPart.Members

    func run() async throws {
        let part = self.part
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await part.gateway.recordKeptKills() }
            await withGracefulShutdownHandler {
                await part.audit.run()
            } onGracefulShutdown: {
                part.audit.stop()
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

/// Follows approvals as long as requests may wait for one.
private struct ApprovalFollower: Service {
    let service: ApprovalService

    func run() async throws {
        await withGracefulShutdownHandler {
            await self.service.run()
        } onGracefulShutdown: {
            self.service.stop()
        }
    }
}
