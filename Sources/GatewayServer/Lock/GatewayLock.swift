internal import AdminAPI
internal import Audit
internal import CShims
internal import KillSwitch
internal import Logging
internal import Proxy
internal import ServiceLifecycle
internal import Settings
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Takes the open part of the gateway away, and brings it back: the way of a lock and of an unlock.
///
///     open ──lock──▶ locking ──token requests are stored──▶ locked ──unlock──▶ unlocking ──▶ open
///
/// A lock stops the event loops first (``ProxyServer/lock()``): when ``lock(_:by:)`` returns, no request gets a token any
/// more. Then the open part ends as at a shutdown, so no grant is lost, and nothing of it stays in the process. The file
/// `locked` in `state_dir` keeps every later start locked.
///
/// The open part comes and goes in ``run()`` alone, one order after another.
final class GatewayLock: GatewayLocking, Service {
    struct State {
        var status: LockStatus
        /// What the file `locked` says; `nil` if the gateway is not locked, or lacks its key only.
        var note: LockNote?
        var attempts = UnlockAttempts()
        /// A lock was ordered while the gateway opens, so it must not open.
        var isInterrupted = false
        /// Gets the key while the gateway opens. It is cancelled when the process stops: a program that is asked for the key
        /// may take long.
        var asking: AskedKey?
        /// Why the open part has ended by itself.
        var failure: (any Error)?
        /// When a wrong admin token was last noted.
        var refusalNoted = BootInstant.distantPast
        /// Answers of providers are not waited for.
        var isNow = false
    }

    enum Order: Sendable {
        case takeAway(OpenPart)
        case open(OfferedKey?, AuditActor, CheckedContinuation<Result<Void, LockError>, Never>)
        case tryToOpen
        case standStill(@Sendable () async -> Void, CheckedContinuation<Void, Never>)
        case releaseMemory
    }

    let front: GatewayFront
    let file: LockFile
    /// What is told to the gateway while it is locked.
    let orders: LockedOrders
    let state: Mutex<State>
    let newOrders: AsyncStream<Order>.Continuation
    private let queue: AsyncStream<Order>
    private let firstPart = Mutex<OpenPart?>(nil)

    init(_ front: GatewayFront) {
        self.front = front
        self.file = LockFile(in: front.settings.stateDirectory)
        self.orders = LockedOrders(in: front.settings.stateDirectory)
        self.state = Mutex(State(status: LockStatus(.unlocking, since: front.startedAt)))
        (self.queue, self.newOrders) = AsyncStream.makeStream()
    }

    /// Says how the gateway begins, before it runs.
    func begin(_ beginning: GatewayBeginning) {
        switch beginning {
        case .open(let part): self.firstPart.withLock { $0 = part }
        case .locked(let status, let note): self.state.withLock { ($0.status, $0.note) = (status, note) }
        case .asking(let status, let asked):
            self.state.withLock { ($0.status, $0.asking) = (status, asked) }
            self.newOrders.yield(.tryToOpen)
        }
    }

    var lockStatus: LockStatus {
        var status = self.state.withLock { $0.status }
        // The envelope of a passphrase may have come or gone since.
        if status.needs != nil { status.needs = self.need }
        return status
    }

    var logger: Logger { self.front.logger }

    /// Runs the open part as long as there is one. After a graceful shutdown it returns when the open part has ended.
    func run() async throws {
        await withDiscardingTaskGroup { watchers in
            watchers.addTask { await self.tryToOpenAgain() }
            // Waits for the open part, which ends by itself: a cancellation would cut its token requests short.
            await withDiscardingTaskGroup { tasks in
                if let part = self.firstPart.withLock({ $0.take() }) { await self.begin(part, in: &tasks) }
                await withGracefulShutdownHandler {
                    for await order in self.queue { await self.carryOut(order, in: &tasks) }
                } onGracefulShutdown: {
                    self.newOrders.finish()
                    self.state.withLock { $0.asking?.cancel() }
                }
                await self.front.part?.stop()
            }
            watchers.cancelAll()
        }
        if let failure = self.state.withLock({ $0.failure }) { throw failure }
    }

    private func carryOut(_ order: Order, in tasks: inout DiscardingTaskGroup) async {
        switch order {
        case .takeAway(let part):
            await self.takeAway(part)
            // Not before this order's own reference to the part is gone.
            self.newOrders.yield(.releaseMemory)
        case .open(let offered, let actor, let continuation):
            let result = await self.open(offered, by: actor)
            if case .success(let part) = result { await self.begin(part, in: &tasks) }
            continuation.resume(returning: result.map { _ in })
        case .tryToOpen:
            guard self.beginOpening(byItself: true) else { return }
            if case .success(let part) = await self.open(nil, by: .gateway("serve")) {
                await self.begin(part, in: &tasks)
            }
        case .standStill(let body, let continuation):
            await body()
            continuation.resume()
        case .releaseMemory:
            martlet_release_freed()
        }
    }

    /// Lets callers and operators use `part`, and runs it.
    private func begin(_ part: OpenPart, in tasks: inout DiscardingTaskGroup) async {
        // Those that come from now on find the gateway open; see `kill`.
        await part.kills.takeUp(self.orders)
        let isInterrupted = self.state.withLock { state in
            guard !state.isInterrupted else { return true }
            state.status = LockStatus(.open, since: Timepiece.system.now.wall)
            (state.note, state.attempts, state.isNow) = (nil, UnlockAttempts(), false)
            return false
        }
        guard !isInterrupted else {
            // It was locked again while it opened. Nobody has used the part.
            self.run(part, in: &tasks)
            await self.takeAway(part)
            return await self.keepAgain()
        }
        self.front.connect(to: part)
        // First, since credentials are announced once.
        self.front.proxy.unlock()
        self.run(part, in: &tasks)
        tasks.addTask { [kills = part.kills] in for await entry in kills.lockOrders { await self.obey(entry) } }
        // A kill may have come in after those before it were taken over.
        tasks.addTask { [kills = part.kills, orders = self.orders] in await kills.takeUp(orders) }
    }

    private func run(_ part: OpenPart, in tasks: inout DiscardingTaskGroup) {
        tasks.addTask {
            do { try await part.run() } catch {
                // A service has ended that should not. The process ends in order, as it did before there were locks.
                self.state.withLock { $0.failure = error }
                self.newOrders.finish()
            }
        }
    }

    /// Runs `body` while the open part neither comes nor goes.
    func whileStill(_ body: @escaping @Sendable () async -> Void) async {
        await withCheckedContinuation { continuation in
            guard case .enqueued = self.newOrders.yield(.standStill(body, continuation)) else {
                return continuation.resume()
            }
        }
    }

    /// Tries again to get the key, as from a command that failed.
    private func tryToOpenAgain() async {
        let clock = Timepiece.system
        var pause = Self.firstPause
        while !Task.isCancelled {
            await clock.rest(until: clock.now.boot.advanced(by: pause))
            guard self.lacksOnlyItsKey else {
                pause = Self.firstPause
                continue
            }
            self.newOrders.yield(.tryToOpen)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(300)

    /// Whether nobody has locked the gateway, and nobody has to bring its key: it tries to get that by itself.
    var lacksOnlyItsKey: Bool {
        self.state.withLock { $0.status.state == .locked && $0.note == nil && $0.status.needs == .nothing }
    }
}

/// How a gateway begins.
enum GatewayBeginning: Sendable {
    case open(OpenPart)
    /// - Parameter note: what the file `locked` says; `nil` if the gateway lacks its key only.
    case locked(LockStatus, LockNote?)
    /// The key does not come at once.
    case asking(LockStatus, AskedKey)
}

/// A key that is asked for: what the program or the file brings, or why there is none.
typealias AskedKey = Task<Result<any KeyRingSource, KeyRingError>, Never>

extension SealingKeyOrigin {
    /// Begins to get the key.
    func ask(offered: OfferedKey? = nil) -> AskedKey {
        Task {
            do throws(KeyRingError) { return .success(try await self.keys(offered: offered)) } catch {
                return .failure(error)
            }
        }
    }
}
