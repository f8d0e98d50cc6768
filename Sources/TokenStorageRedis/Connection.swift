internal import NIOCore
internal import Synchronization
internal import TokenStorage

/// A connection to the primary that comes back by itself.
///
///     waiting ──▶ a group of calls ──▶ one pipeline ──▶ a reply to each
///                      │                    └── the connection fails: its calls are unreachable, others wait
///                      └── not connected: connect to one host after another, with pauses, until the calls' time is over
///
/// Calls that arrive while others are in progress form the next group, so that all of them wait for a replica once. A call
/// whose outcome is unknown is never sent again.
final class Connection: Sendable {
    enum Role: Sendable {
        /// Reads, and listens to the channel.
        case reading
        case writing
    }

    /// How long a call may wait until it is sent.
    private static let callLimit = Duration.milliseconds(1_600)
    /// How long a group may take: longer than the wait for a replica.
    private static let groupLimit = Duration.milliseconds(1_800)
    /// The time between two looks at a server that stays connected.
    private static let lookInterval = Duration.seconds(10)
    /// The most calls in one pipeline. A page counts as many, because it may have as many bytes.
    private static let largestGroup = 64

    private static let deadlines = Deadlines(.milliseconds(1_900))

    private struct Call: QueuedCall {
        let commands: [Command]
        /// The command whose reply counts.
        let deciding: Int
        /// Whether the reply has records in it.
        let isOfRecords: Bool
        /// Its share of ``largestGroup``.
        let weight: Int
        let deadline: ContinuousClock.Instant
        let reply: Reply<RESPValue>

        func fail(_ error: StoreError) { self.reply.give(.failure(error)) }
    }

    private let server: RedisServer
    private let role: Role
    private let primary: PrimaryRecord
    private let group: any EventLoopGroup
    private let calls: CallQueue<Call, SessionError>
    /// The primary that the Sentinels have named since the last connection.
    private let named = Mutex<RedisServer.Host?>(nil)
    /// Wakes the task that serves calls.
    private let bell = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let notified: @Sendable (RecordChange) -> Void
    private let pushed: (@Sendable ([RESPValue]) -> Void)?

    /// - Parameters:
    ///   - primary: the server that all connections of the store use.
    ///   - notified: called with ``RecordChange/everything`` or ``RecordChange/anotherServer`` after a reading connection
    ///     was lost.
    ///   - pushed: what the server publishes; `nil` for a connection that writes.
    init(
        to server: RedisServer,
        _ primary: PrimaryRecord,
        on group: any EventLoopGroup,
        notified: @escaping @Sendable (RecordChange) -> Void = { _ in },
        pushed: (@Sendable ([RESPValue]) -> Void)? = nil
    ) {
        self.server = server
        self.role = pushed == nil ? .writing : .reading
        self.primary = primary
        self.group = group
        self.notified = notified
        self.pushed = pushed
        let isWrite = pushed == nil
        self.calls = CallQueue { StoreError($0 ?? .late, isWrite: isWrite, store: server.name) }
    }

    /// Connects for the first time.
    ///
    /// - Parameter creates: whether missing records are made; `nil`: another connection has looked after them.
    func connect(creates: Bool?) async throws(SessionError) -> ConnectedSession {
        try await self.connect(within: ConnectedSession.openingLimit, creates: creates)
    }

    private func connect(within limit: Duration, creates: Bool?) async throws(SessionError) -> ConnectedSession {
        try await ConnectedSession.open(
            self.server,
            self.primary,
            on: self.group,
            within: limit,
            creates: creates,
            listeningBy: self.pushed
        )
    }

    /// Calls that wait, and later ones, are unreachable. ``serve(from:)`` returns.
    func close() {
        self.calls.close()
        self.bell.continuation.finish()
    }

    // MARK: - Calls

    /// Runs commands one after another.
    ///
    /// - Parameters:
    ///   - index: the command whose reply is returned.
    ///   - isLarge: whether the reply may be as large as a page.
    ///   - isOfRecords: whether the reply has records in it.
    /// - Throws: ``StoreError/Code/unreachable``, ``StoreError/Code/unwritable`` and ``StoreError/Code/unreadable``.
    func run(
        _ commands: [Command],
        deciding index: Int = 0,
        isLarge: Bool = false,
        isOfRecords: Bool = true
    ) async throws(StoreError) -> RESPValue {
        try await Self.deadlines.reply(late: { self.calls.lateness }) { reply in
            let weight = isLarge ? StoreGuarantees.uncutPage : 1
            let isWaiting = self.calls.add(
                Call(
                    commands: commands,
                    deciding: index,
                    isOfRecords: isOfRecords,
                    weight: weight,
                    deadline: .now + Self.callLimit,
                    reply: reply
                )
            )
            if isWaiting { self.bell.continuation.yield() }
        }
    }

    private func storeError(_ error: SessionError) -> StoreError {
        StoreError(error, isWrite: self.role == .writing, store: self.server.name)
    }

    // MARK: - Serving

    /// Serves calls until the connection is closed, with a session that is connected already.
    func serve(from first: ConnectedSession) async {
        var connected: ConnectedSession? = first
        var last: ServerInfo?
        var backoff = Backoff()
        while !self.calls.isClosed {
            do throws(SessionError) {
                if connected == nil { connected = try await self.reconnect(&backoff, after: last) }
                guard let session = connected else { return }
                self.calls.note(nil)
                self.named.withLock { $0 = nil }
                last = session.info
                try await self.work(session)
            } catch {
                if error.isLate, let host = connected?.session.host { self.primary.failed(host) }
                await connected?.session.close()
                connected = nil
                self.calls.note(error)
                self.calls.expire()
            }
        }
        await connected?.session.close()
    }

    /// Serves calls until the session fails or the connection is closed.
    private func work(_ connected: ConnectedSession) async throws(SessionError) {
        let bell = self.bell.continuation
        connected.session.ring(each: Self.lookInterval) { bell.yield() }
        var nextLook = ContinuousClock.now + Self.lookInterval
        while true {
            guard connected.session.isOpen else { throw .closed }
            guard self.primary.isCurrent(connected.info) else { throw .anotherPrimary }
            let named = self.named.withLock { $0 }
            guard named == nil || named == connected.session.host else { throw .anotherPrimary }
            if nextLook <= .now {
                try await self.look(at: connected)
                nextLook = .now + Self.lookInterval
            }
            switch self.next() {
            case .end: return
            case .group(let group): try await self.run(group, connected)
            case .wait where self.role == .writing && self.primary.isUnconfirmed(connected.info):
                // Until all is confirmed, nothing is read.
                try await self.run([], connected)
            case .wait: await self.listen()
            }
        }
    }

    /// Waits until there may be something to do.
    private func listen() async {
        for await _ in self.bell.stream { return }
    }

    /// Looks whether the server is still the primary, and whether it has replicas.
    private func look(at connected: ConnectedSession) async throws(SessionError) {
        let reply = try await connected.session.perform([.info], by: .now + Self.groupLimit)
        try self.primary.learn(try ServerInfo(reply.first))
    }

    /// Asks the Sentinels from time to time, beside the calls: one that does not respond must not hold them up. A former
    /// primary that is cut off from its Sentinels does not know that it is one, and this process may.
    func watchSentinels() async {
        guard let sentinels = self.server.sentinels else { return }
        while !self.calls.isClosed {
            guard (try? await Task.sleep(for: Self.lookInterval)) != nil else { return }
            let host = try? await sentinels.primary(
                of: self.server,
                self.primary,
                on: self.group,
                within: ConnectedSession.limit
            )
            guard let host else { continue }
            self.named.withLock { $0 = host }
            self.bell.continuation.yield()
        }
    }

    /// The calls of the next pipeline: those whose time is not over.
    private func next() -> CallQueue<Call, SessionError>.Next {
        self.calls.next { waiting in
            var room = Self.largestGroup
            return waiting.prefix { call in
                room -= call.weight
                return room >= 0
            }.count
        }
    }

    private func run(_ calls: [Call], _ connected: ConnectedSession) async throws(SessionError) {
        let host = connected.session.host
        let isUnconfirmed = self.primary.isUnconfirmed(connected.info)
        let group = calls.filter { self.role == .writing || !isUnconfirmed || !$0.isOfRecords }
        if group.count < calls.count {
            let failure = self.storeError(Self.unconfirmed)
            for call in calls where call.isOfRecords { call.reply.give(.failure(failure)) }
            guard !group.isEmpty else { return }
        }
        let waits = self.role == .writing && self.primary.awaitsReplica(on: connected.info)
        let confirming =
            isUnconfirmed ? [Script.confirm(Layout(prefix: self.server.prefix), mark: self.primary.mark)] : []
        let replies: [RESPValue]
        do throws(SessionError) {
            replies = try await connected.session.run(
                group.flatMap(\.commands) + (waits ? confirming + [.wait] : []),
                by: .now + Self.groupLimit
            )
            // What an isolated former primary says must not be taken for news.
            guard self.primary.isCurrent(connected.info) else { throw .anotherPrimary }
        } catch {
            if waits { self.primary.note(isConfirmed: false, on: connected.info) }
            let failure = self.storeError(error)
            for call in group { call.reply.give(.failure(failure)) }
            throw error
        }
        // A failed `WAIT` confirms nothing either.
        let isConfirmed =
            if waits { if case .integer(1...)? = replies.last { true } else { false } } else { true }
        // Noted before any caller may read again.
        if waits { self.primary.note(isConfirmed: isConfirmed, on: connected.info) }
        var ending = isConfirmed ? nil : Self.unconfirmed
        var position = 0
        for call in group {
            // A command that fails keeps those behind it from what they are to do.
            let decisive = replies[position...(position + call.deciding)]
            let reply =
                decisive.first { if case .failure = $0 { true } else { false } } ?? replies[position + call.deciding]
            position += call.commands.count
            if case .failure(let failure) = reply {
                let error = SessionError(failure, from: host)
                if [.notPrimary, .login].contains(error.meaning) { ending = ending ?? error }
                call.reply.give(.failure(self.storeError(error)))
            } else if !isConfirmed {
                call.reply.give(.failure(self.storeError(Self.unconfirmed)))
            } else {
                call.reply.give(.success(reply))
            }
        }
        if let ending {
            // Perhaps another host is the primary by now.
            self.primary.failed(host)
            throw ending
        }
    }

    private static let unconfirmed = SessionError("no replica has confirmed the last write within 1.5 s", .notPrimary)

    /// Connects after a pause.
    ///
    /// - Returns: `nil` if the connection was closed meanwhile.
    private func reconnect(
        _ backoff: inout Backoff,
        after last: ServerInfo?
    ) async throws(SessionError) -> ConnectedSession? {
        // Closing the store cancels this task.
        try? await Task.sleep(for: backoff.next(at: .now))
        guard !self.calls.isClosed else { return nil }
        let connected = try await self.connect(within: ConnectedSession.limit, creates: nil)
        backoff.succeeded(at: .now)
        if self.role == .reading {
            let isSame = last.map { connected.info.isSameServer(as: $0) } ?? true
            self.notified(isSame ? .everything : .anotherServer)
        }
        return connected
    }
}
