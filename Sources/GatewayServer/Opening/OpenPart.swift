internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Logging
internal import ServiceLifecycle
internal import SignIn
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The part of a gateway that has the sealing key: the store, the tokens, and all that works on them. It goes when the
/// gateway is locked or ends, and nothing of it stays.
struct OpenPart: Sendable {
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
    let engine: RefreshEngine
    let signIns: SignInService
    let logger: Logger
    /// What operators act on.
    let gateway: OpenGateway

    /// Works until a graceful shutdown. Then refreshes in progress end last, so that no grant is lost; after them the
    /// store is closed.
    func services() -> ServiceGroup {
        ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // Services stop in reverse order.
                services: [
                    EngineService(part: self), KillService(kills: self.kills), AuditService(part: self),
                    SignIns(service: self.signIns),
                ],
                logger: self.logger
            )
        )
    }
}

/// Runs the refresh engine as long as anything may need a credential, then closes the store.
private struct EngineService: Service {
    let part: OpenPart

    func run() async throws {
        let part = self.part
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await part.keeper.run() }
            tasks.addTask { await part.incarnations.run() }
            tasks.addTask { await part.storeWatch.run() }
            tasks.addTask {
                await part.driver.run { progress in
                    part.logger.notice(
                        "the move of the records is done: take previous out of the configuration",
                        metadata: ["records.moved": .stringConvertible(progress.moved)]
                    )
                }
            }
            await withGracefulShutdownHandler {
                await part.engine.run()
            } onGracefulShutdown: {
                part.engine.stop()
                let count = part.engine.flightCount
                guard count > 0 else { return }
                part.logger.notice(
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
    let part: OpenPart

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
