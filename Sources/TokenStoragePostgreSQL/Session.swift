internal import CPostgreSQL
internal import Glibc
internal import Synchronization
internal import TokenModel

/// A connection to one server. This is the only file that calls libpq.
///
/// Its calls block until they have a result or their deadline passes, so it belongs to the thread of a ``Connection``.
/// After a thrown error it must not be used any more: what was sent may still be in progress.
@safe struct Session: ~Copyable {
    /// What happened while a session was idle.
    struct Idling {
        var notifications: [Notification] = []
        /// The other descriptor, which the caller waits for too, has something to read.
        var wasWoken = false
    }

    /// A `NOTIFY` of any session.
    struct Notification: Sendable {
        let sender: Int32
        let payload: String
    }

    /// Owned: `deinit` frees it, and nothing else does.
    private let connection: OpaquePointer
    /// libpq's callback for notices has a reference to it, as long as the connection exists.
    private let notices = NoticeBox()

    private init(_ connection: OpaquePointer) {
        unsafe self.connection = unsafe connection
    }

    deinit { unsafe PQfinish(self.connection) }

    // MARK: - Connecting

    /// Connects to one host. Resolving its name may take longer than `deadline` allows.
    ///
    /// - Throws: ``SessionError`` where it can't be reached or refuses this user, and where it is no primary.
    static func connect(
        _ parameters: [(name: String, value: String)],
        password: Secret?,
        by deadline: ContinuousClock.Instant
    ) throws(SessionError) -> Session {
        let names =
            unsafe parameters.map { unsafe strdup($0.name) } + [password == nil ? nil : strdup("password"), nil]
        let values = unsafe parameters.map { unsafe strdup($0.value) } + [password?.copiedForC(), nil]
        defer {
            unsafe names.forEach { unsafe free($0) }
            unsafe values.forEach { unsafe Self.wipe($0) }
        }
        let connection = unsafe PQconnectStartParams(
            names.map { unsafe UnsafePointer($0) },
            values.map { unsafe UnsafePointer($0) },
            0
        )
        guard let connection = unsafe connection else { throw SessionError("out of memory") }
        let session = unsafe Session(connection)
        // libpq reports a refused login only as text; in this form the text has the SQLSTATE.
        unsafe PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        unsafe PQsetNoticeReceiver(connection, Self.receiveNotice, Unmanaged.passUnretained(session.notices).toOpaque())
        try session.connect(by: deadline)
        guard unsafe PQsetnonblocking(connection, 1) == 0, unsafe PQenterPipelineMode(connection) == 1 else {
            throw session.lost()
        }
        return session
    }

    private func connect(by deadline: ContinuousClock.Instant) throws(SessionError) {
        guard unsafe PQstatus(self.connection) != CONNECTION_BAD else { throw self.refused() }
        var next = PGRES_POLLING_WRITING
        while next != PGRES_POLLING_OK {
            guard next != PGRES_POLLING_FAILED else { throw self.refused() }
            let events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard try self.wait(for: events, until: deadline) else { throw SessionError("no response in time") }
            next = unsafe PQconnectPoll(self.connection)
        }
    }

    /// Overwrites and frees a C string.
    private static func wipe(_ text: UnsafeMutablePointer<CChar>?) {
        guard let text = unsafe text else { return }
        unsafe explicit_bzero(text, strlen(text))
        unsafe free(text)
    }

    // MARK: - Calls

    /// Sends statements at once, which the server runs as one transaction, and waits for all results.
    ///
    /// - Returns: a result for each statement. If one has failed, so has the transaction, and nothing was changed.
    /// - Throws: ``SessionError`` where the outcome is unknown, ``SessionError/wasSent`` if the transaction may have
    ///   been committed.
    func run(_ calls: [SessionCall], by deadline: ContinuousClock.Instant) throws(SessionError) -> [CallResult] {
        self.notices.clear()
        for call in calls { try self.send(call) }
        guard unsafe PQpipelineSync(self.connection) == 1 else { throw self.lost() }
        var results: [CallResult] = []
        do throws(SessionError) {
            while let result = try self.nextResult(by: deadline) { results.append(result) }
        } catch {
            throw error.sent
        }
        // The only warning that a write can cause: its commit did not wait for the standby, because an operator has
        // ended the wait. It stands on this server, and a failover may lose it.
        guard !self.notices.hasWarning else { throw SessionError("the commit was not replicated").sent }
        guard results.count == calls.count else { throw SessionError("a result is missing").sent }
        return results
    }

    private func send(_ call: SessionCall) throws(SessionError) {
        let parameters = call.parameters
        let sent: CInt
        switch call.text {
        case .prepared(let name):
            let buffers = unsafe parameters.map { unsafe UnsafeMutableBufferPointer<UInt8>.copying($0) }
            defer { unsafe buffers.forEach { unsafe $0.deallocate() } }
            sent = unsafe PQsendQueryPrepared(
                self.connection,
                name,
                CInt(parameters.count),
                buffers.map { buffer in
                    unsafe UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
                },
                parameters.map { CInt($0.count) },
                [CInt](repeating: 1, count: parameters.count),
                1
            )
        case .preparing(let name, let sql):
            sent = unsafe PQsendPrepare(self.connection, name, sql, 0, nil)
        case .plain(let sql):
            sent = unsafe PQsendQueryParams(self.connection, sql, 0, nil, nil, nil, nil, 0)
        }
        guard sent == 1 else { throw self.lost() }
    }

    /// - Returns: `nil` after the last result of a transaction.
    private func nextResult(by deadline: ContinuousClock.Instant) throws(SessionError) -> CallResult? {
        while true {
            try self.awaitInput(by: deadline)
            // Between the results of two statements there is one `nil`.
            guard let result = unsafe PQgetResult(self.connection) else { continue }
            defer { unsafe PQclear(result) }
            switch unsafe PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC: return nil
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return unsafe .done(Self.table(result))
            case PGRES_PIPELINE_ABORTED: return .skipped
            default:
                let state = unsafe Self.field(PG_DIAG.sqlState, of: result)
                let message =
                    unsafe Self.field(PG_DIAG.primary, of: result) ?? String(cString: PQresultErrorMessage(result))
                // A fatal error ends the connection, and then no more results come.
                return .failed(SessionError(message, state: state))
            }
        }
    }

    /// Waits until a result can be taken without blocking.
    private func awaitInput(by deadline: ContinuousClock.Instant) throws(SessionError) {
        while true {
            let flushed = unsafe PQflush(self.connection)
            guard flushed >= 0 else { throw self.lost() }
            if flushed == 0, unsafe PQisBusy(self.connection) == 0 {
                guard unsafe PQstatus(self.connection) == CONNECTION_OK else { throw self.lost() }
                return
            }
            let events = flushed == 0 ? POLLIN : POLLIN | POLLOUT
            guard try self.wait(for: events, until: deadline) else {
                throw SessionError("no response in time", isLate: true)
            }
            guard unsafe PQconsumeInput(self.connection) == 1 else { throw self.lost() }
        }
    }

    private static func table(_ result: OpaquePointer) -> CallResult.Table {
        let (rows, columns) = unsafe (PQntuples(result), PQnfields(result))
        return CallResult.Table(
            rows: (0..<rows).map { row in
                (0..<columns).map { column in
                    guard unsafe PQgetisnull(result, row, column) == 0 else { return nil }
                    let count = unsafe Int(PQgetlength(result, row, column))
                    guard count > 0, let start = unsafe PQgetvalue(result, row, column) else { return [] }
                    return unsafe start.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
                        unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
                    }
                }
            },
            changed: unsafe Int(String(cString: PQcmdTuples(result))) ?? 0
        )
    }

    // MARK: - Idling

    /// Waits for notifications, and for something to read from `descriptor`.
    func idle(beside descriptor: CInt) throws(SessionError) -> Idling {
        var idling = Idling(notifications: self.takeNotifications())
        guard idling.notifications.isEmpty else { return idling }
        var watched = [
            pollfd(fd: unsafe PQsocket(self.connection), events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        guard unsafe poll(&watched, 2, -1) >= 0 || errno == EINTR else { throw SessionError("can't wait: \(errno)") }
        idling.wasWoken = watched[1].revents != 0
        if watched[0].revents != 0 {
            guard unsafe PQconsumeInput(self.connection) == 1 else { throw self.lost() }
            // An idle session gets notifications and nothing else, unless the server ends it.
            guard unsafe PQisBusy(self.connection) == 0 else { throw self.lost() }
        }
        idling.notifications = self.takeNotifications()
        return idling
    }

    /// Notifications that have arrived.
    func takeNotifications() -> [Notification] {
        var taken: [Notification] = []
        while let found = unsafe PQnotifies(self.connection) {
            taken.append(
                unsafe Notification(sender: found.pointee.be_pid, payload: String(cString: found.pointee.extra))
            )
            unsafe PQfreemem(found)
        }
        return taken
    }

    // MARK: - Sockets and messages

    /// - Returns: `false` if the deadline has passed.
    private func wait(for events: CInt, until deadline: ContinuousClock.Instant) throws(SessionError) -> Bool {
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return false }
            var watched = pollfd(fd: unsafe PQsocket(self.connection), events: Int16(events), revents: 0)
            let milliseconds = CInt(min(left / .milliseconds(1) + 1, 60_000))
            switch unsafe poll(&watched, 1, milliseconds) {
            case 1...: return true
            case 0: continue
            default: guard errno == EINTR else { throw SessionError("can't wait: \(errno)") }
            }
        }
    }

    private func refused() -> SessionError {
        SessionError(connectionMessage: unsafe String(cString: PQerrorMessage(self.connection)))
    }

    private func lost() -> SessionError {
        let message = unsafe String(cString: PQerrorMessage(self.connection))
        return SessionError(connectionMessage: message.isEmpty ? "the connection was closed" : message)
    }

    private static func field(_ code: CInt, of result: OpaquePointer) -> String? {
        guard let text = unsafe PQresultErrorField(result, code) else { return nil }
        return unsafe String(cString: text)
    }

    private static let receiveNotice: PQnoticeReceiver = { box, result in
        guard let box = unsafe box, let result = unsafe result else { return }
        guard unsafe Session.field(PG_DIAG.severity, of: result) == "WARNING" else { return }
        unsafe Unmanaged<NoticeBox>.fromOpaque(box).takeUnretainedValue().noteWarning()
    }
}

/// The codes of error fields, which are macros that Swift does not see.
private enum PG_DIAG {
    static let severity = CInt(UInt8(ascii: "V"))
    static let sqlState = CInt(UInt8(ascii: "C"))
    static let primary = CInt(UInt8(ascii: "M"))
}

/// Whether the server has sent a warning since the last call began.
private final class NoticeBox: Sendable {
    private let warning = Atomic(false)

    var hasWarning: Bool { self.warning.load(ordering: .relaxed) }
    func noteWarning() { self.warning.store(true, ordering: .relaxed) }
    func clear() { self.warning.store(false, ordering: .relaxed) }
}

extension UnsafeMutableBufferPointer<UInt8> {
    /// A copy of bytes in memory of its own, at least one byte: libpq takes a null pointer for SQL's `NULL`.
    fileprivate static func copying(_ bytes: [UInt8]) -> Self {
        let buffer = Self.allocate(capacity: Swift.max(1, bytes.count))
        _ = unsafe buffer.initialize(from: bytes)
        return unsafe buffer
    }
}

extension Secret {
    /// The bytes with a zero behind them, in memory that the caller wipes and frees.
    fileprivate func copiedForC() -> UnsafeMutablePointer<CChar>? {
        unsafe self.withUnredacted { span in
            let copy = unsafe calloc(span.count + 1, 1)?.assumingMemoryBound(to: CChar.self)
            guard let copy = unsafe copy else { return nil }
            for index in span.indices { unsafe copy[index] = CChar(bitPattern: span[index]) }
            return unsafe copy
        }
    }
}

/// One statement to send.
struct SessionCall: Sendable {
    enum Text: Sendable {
        /// A statement that was prepared under this name.
        case prepared(String)
        /// Prepares a statement under a name.
        case preparing(String, sql: String)
        /// A statement without parameters, whose results come as text.
        case plain(String)
    }

    let text: Text
    /// In PostgreSQL's binary format.
    var parameters: [[UInt8]] = []
}

/// What came of one statement.
enum CallResult: Sendable {
    struct Table: Sendable {
        /// The columns of each row; `nil` is SQL's `NULL`.
        let rows: [[[UInt8]?]]
        /// How many rows the statement has changed.
        let changed: Int
    }

    case done(Table)
    case failed(SessionError)
    /// An earlier statement of the transaction has failed.
    case skipped

    var isFailed: Bool { if case .failed = self { true } else { false } }

    /// Whether a change has changed nothing.
    var isMisfit: Bool { if case .done(let table) = self { table.changed == 0 } else { false } }
}

/// Why a statement or a connection has failed.
struct SessionError: Error {
    /// For the operator. One line, without values of parameters.
    let message: String
    /// The SQLSTATE, where the server gave one (PostgreSQL, Appendix A).
    let state: String?
    /// Statements were sent, and may have been carried out or still be.
    var wasSent = false
    /// No response came in time. The server may still be working.
    var isLate = false

    init(_ message: String, state: String? = nil, isLate: Bool = false) {
        self.message = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        self.state = state
        self.isLate = isLate
    }

    /// A message of libpq about a connection: `… FATAL:  28P01: password authentication failed … LOCATION:  …`.
    init(connectionMessage text: String) {
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        let message = lines.joined(separator: " ")
        let parts = message.split(separator: ":").map { $0.trimmingPrefix(while: \.isWhitespace) }
        let coded = parts.first { part in
            part.utf8.count == 5 && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
                && part.utf8.contains { (0x30...0x39).contains($0) }
        }
        self.init(message, state: coded.map(String.init))
    }

    var sent: SessionError {
        var error = self
        error.wasSent = true
        return error
    }
}
