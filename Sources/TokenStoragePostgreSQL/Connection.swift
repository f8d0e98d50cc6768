internal import Dispatch
internal import Glibc
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// A connection to the primary that comes back by itself, on a thread of its own.
///
///     waiting ──▶ a group of calls ──▶ one transaction ──▶ a reply to each
///                      │                    └── the connection fails: its calls are unreachable, others wait
///                      └── not connected: connect to one host after another, with pauses, until the calls' time is over
///
/// Calls that arrive while others are in progress form the next group, so that one commit serves all of them. A call
/// that was sent is never cancelled: a cancelled commit stands on the server without its standby. One whose outcome is unknown
/// is never sent again.
final class Connection: Sendable {
    enum Role: Sendable {
        /// Reads, and listens to notifications.
        case reading
        case writing
    }

    /// How long a call may wait until it is sent, and then for its result.
    static let callLimit = Duration.milliseconds(1_600)
    /// How long a caller waits at most, even if the thread is busy with something that can't be interrupted, such as
    /// resolving a name.
    static let timeLimit = Duration.milliseconds(1_900)
    /// How long connecting to one host may take.
    static let connectLimit = Duration.milliseconds(1_000)
    /// The most calls in one transaction.
    private static let largestGroup = 64

    private static let deadlines = Deadlines(Connection.timeLimit)

    private struct Call: QueuedCall {
        let statement: Statement
        let parameters: [[UInt8]]
        let deadline: ContinuousClock.Instant
        let reply: Reply<CallResult.Table>?

        func fail(_ error: StoreError) { self.reply?.give(.failure(error)) }

        var sessionCall: SessionCall {
            SessionCall(text: .prepared(self.statement.rawValue), parameters: self.parameters)
        }

        /// Reads the record at the key of a change.
        var readsKey: SessionCall {
            SessionCall(text: .prepared(Statement.read.rawValue), parameters: [self.parameters[0]])
        }

        /// The version that a change replaces; `nil`: it expects no record.
        var expectedVersion: [UInt8]? { self.statement == .insert ? nil : self.parameters.last }
    }

    private let server: PostgreSQLServer
    private let role: Role
    private let primary: PrimaryRecord
    private let bell: PipeBell
    private let calls: CallQueue<Call, SessionError>
    private let queue: DispatchQueue
    private let notified: @Sendable (RecordChange) -> Void

    /// - Parameters:
    ///   - primary: the server that all connections of the store use.
    ///   - notified: called with each hint of another process, and with ``RecordChange/everything`` or
    ///     ``RecordChange/anotherServer`` after the connection was lost.
    init(
        to server: PostgreSQLServer,
        _ role: Role,
        _ primary: PrimaryRecord,
        notified: @escaping @Sendable (RecordChange) -> Void = { _ in }
    ) throws(StoreError) {
        self.server = server
        self.role = role
        self.primary = primary
        self.notified = notified
        self.bell = try PipeBell()
        self.queue = DispatchQueue(label: "martlet.store.postgresql")
        self.calls = CallQueue { failure in
            StoreError(
                failure ?? SessionError("no response in time"),
                isWrite: role == .writing,
                database: server.name
            )
        }
    }

    /// Begins to serve calls, with a session that is connected already.
    func start(with session: consuming sending ConnectedSession) {
        let first = Mutex<ConnectedSession?>(session)
        self.queue.async { self.serve(first.withLock { $0.take() }) }
    }

    /// Ends the thread. Calls that wait, and later ones, are unreachable.
    func close() {
        self.calls.close()
        self.bell.ring()
    }

    /// Waits until the thread has ended.
    func ended() async {
        await withCheckedContinuation { continuation in self.queue.async { continuation.resume() } }
    }

    // MARK: - Calls

    /// Runs a statement.
    ///
    /// - Returns: its rows. For a change that does not fit, the record that is there (version and value), and
    ///   ``CallResult/Table/changed`` is 0.
    /// - Throws: ``StoreError/Code/unreachable`` and ``StoreError/Code/unwritable``.
    func run(
        _ statement: Statement,
        _ parameters: [[UInt8]] = [],
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> CallResult.Table {
        try await Self.deadlines.reply(late: { self.calls.lateness }) { reply in
            self.add(Call(statement: statement, parameters: parameters, deadline: deadline, reply: reply))
        }
    }

    /// Runs a statement whose result nobody waits for.
    func post(_ statement: Statement, _ parameters: [[UInt8]]) {
        self.add(
            Call(statement: statement, parameters: parameters, deadline: .now + Self.callLimit, reply: nil)
        )
    }

    private func add(_ call: Call) { if self.calls.add(call) { self.bell.ring() } }

    // MARK: - The thread

    private func serve(_ connected: consuming ConnectedSession?) {
        var connected = connected
        var last: SessionIdentity?
        var backoff = Backoff()
        while !self.calls.isClosed {
            do throws(SessionError) {
                if connected == nil {
                    connected = try self.connect(&backoff, after: last)
                    guard connected != nil else { return }
                    self.calls.note(nil)
                }
                last = connected?.identity
                try self.work(&connected)
            } catch {
                connected = nil
                self.calls.note(error)
                self.calls.expire()
            }
        }
    }

    /// Serves calls until the session fails or the connection is closed.
    private func work(_ connected: inout ConnectedSession?) throws(SessionError) {
        while let identity = connected?.identity {
            switch self.next() {
            case .end: return
            case .group(let group):
                guard self.primary.isCurrent(identity) else {
                    self.calls.putBack(group)
                    throw SessionError("another server has become the primary")
                }
                try self.run(group, &connected)
                self.pass(on: connected?.session.takeNotifications() ?? [], notFrom: identity.processID)
            case .wait:
                guard self.primary.isCurrent(identity) else {
                    throw SessionError("another server has become the primary")
                }
                let idling = try connected?.session.idle(beside: self.bell.descriptor)
                if idling?.wasWoken == true { self.bell.silence() }
                self.pass(on: idling?.notifications ?? [], notFrom: identity.processID)
            }
        }
    }

    /// Passes hints on. What this process has written itself was announced already.
    private func pass(on notifications: [Session.Notification], notFrom sender: Int32) {
        for one in notifications where one.sender != sender {
            if let change = HintText.change(from: one.payload) { self.notified(change) }
        }
    }

    /// The calls of the next transaction: those whose time is not over.
    private func next() -> CallQueue<Call, SessionError>.Next {
        let next = self.calls.next { waiting in
            // A hint that fails must not fail a read.
            let isHint = waiting[0].statement == .notify
            return waiting.prefix(Self.largestGroup).prefix { ($0.statement == .notify) == isHint }.count
        }
        guard self.role == .writing, case .group(let group) = next else { return next }
        // Two processes lock records in the same order. Changes of one record stay in theirs.
        let order = group.indices.sorted { left, right in
            let (first, second) = (group[left].parameters[0], group[right].parameters[0])
            return first == second ? left < right : first.lexicographicallyPrecedes(second)
        }
        return .group(order.map { group[$0] })
    }

    private func run(_ group: [Call], _ connected: inout ConnectedSession?) throws(SessionError) {
        do throws(SessionError) {
            let results = try self.send(group.map(\.sessionCall), &connected)
            if let index = results.firstIndex(where: \.isFailed), case .failed(let error) = results[index] {
                return try self.undo(group, because: error, of: index)
            }
            let isMisfit = results.map { self.role == .writing && $0.isMisfit }
            for (index, call) in group.enumerated() where !isMisfit[index] {
                if case .done(let table) = results[index] { call.reply?.give(.success(table)) }
            }
            // A statement sees what was committed before it began, so what stands where a change did not fit is read
            // by another one.
            let misfits = zip(group, isMisfit).filter(\.1).map(\.0)
            let current = misfits.isEmpty ? [] : try self.send(misfits.map(\.readsKey), &connected)
            guard current.allSatisfy({ !$0.isFailed }) else { throw SessionError("a record can't be read") }
            for case (let call, .done(let table)) in zip(misfits, current) { self.reply(to: call, with: table) }
        } catch {
            // Calls that have their reply keep it.
            let failure = self.storeError(error)
            for call in group { call.reply?.give(.failure(failure)) }
            throw error
        }
    }

    /// One failure has undone the whole transaction. The calls beside the one that failed are run again without it.
    private func undo(_ group: [Call], because error: SessionError, of index: Int) throws(SessionError) {
        guard !error.endsSession else { throw error }
        group[index].reply?.give(.failure(self.storeError(error)))
        self.calls.putBack(Array(group[..<index] + group[(index + 1)...]))
    }

    /// Replies to a change that did not fit with what is there.
    private func reply(to call: Call, with there: CallResult.Table) {
        // Another writer may have put back what was expected, such as no record, in between.
        let fitsNow = (there.rows.first?[0]).map { $0 == call.expectedVersion } ?? (call.expectedVersion == nil)
        guard !fitsNow else { return self.calls.putBack([call]) }
        call.reply?.give(.success(CallResult.Table(rows: there.rows, changed: 0)))
    }

    /// Runs one transaction, on the current primary.
    private func send(
        _ calls: [SessionCall],
        _ connected: inout ConnectedSession?
    ) throws(SessionError) -> [CallResult] {
        guard let identity = connected?.identity else { throw SessionError("there is no connection") }
        do throws(SessionError) {
            let results = try connected?.session.run(calls, by: .now + Self.callLimit) ?? []
            // What an isolated former primary says must not be taken for news.
            guard self.primary.isCurrent(identity) else {
                throw SessionError("another server has become the primary").sent
            }
            return results
        } catch {
            // Perhaps another host is the primary by now.
            if error.isLate { self.primary.failed(identity.host) }
            throw error
        }
    }

    private func storeError(_ error: SessionError) -> StoreError {
        StoreError(error, isWrite: self.role == .writing, database: self.server.name)
    }

    // MARK: - Connecting

    /// Connects, with pauses between attempts.
    ///
    /// - Returns: `nil` if the connection was closed meanwhile.
    private func connect(
        _ backoff: inout Backoff,
        after last: SessionIdentity?
    ) throws(SessionError) -> ConnectedSession? {
        let pause = backoff.next(at: .now)
        self.bell.wait(for: pause) { self.calls.isClosed }
        guard !self.calls.isClosed else { return nil }
        let session = try ConnectedSession.open(self.server, self.role, self.primary)
        backoff.succeeded(at: .now)
        if self.role == .reading {
            let isAnother = last.map { !$0.isSameServer(as: session.identity) } ?? false
            self.notified(isAnother ? .anotherServer : .everything)
        }
        return session
    }
}

/// Wakes a thread that waits in `poll(2)`.
final class PipeBell: Sendable {
    /// Readable while it rings.
    let descriptor: CInt
    private let writeEnd: CInt

    init() throws(StoreError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw StoreError(.unreachable, "no file descriptor is left for a connection to the database")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (self.descriptor, self.writeEnd) = (ends[0], ends[1])
    }

    deinit {
        Glibc.close(self.descriptor)
        Glibc.close(self.writeEnd)
    }

    func ring() {
        // A full pipe rings already.
        _ = unsafe write(self.writeEnd, [UInt8(1)], 1)
    }

    func silence() {
        var bytes = [UInt8](repeating: 0, count: 512)
        while unsafe read(self.descriptor, &bytes, bytes.count) == bytes.count {}
    }

    /// Waits for a time, or until it rings and `isOver` says yes.
    func wait(for time: Duration, unless isOver: () -> Bool) {
        let end = ContinuousClock.now + time
        while !isOver() {
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            guard left > 0 else { return }
            var watched = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
            // Calls ring too, and don't end a pause.
            if unsafe poll(&watched, 1, CInt(left) + 1) > 0 { self.silence() }
        }
    }
}
