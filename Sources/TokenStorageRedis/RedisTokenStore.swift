internal import NIOCore
internal import NIOPosix
package import TokenModel
package import TokenStorage

/// A store in a Redis or Valkey database, which replicas of the gateway on several hosts share.
///
/// It uses two connections: one writes, the other reads and listens to hints. Where the server has replicas, a write is
/// acknowledged when one of them has it too (`WAIT 1`). A failover may still lose the last writes: a replica that is
/// promoted need not be the one that had them. A write survives a loss of power only with `appendonly yes` and
/// `appendfsync always`.
///
/// The user needs no more rights than these. For another prefix, replace `martlet:`.
///
///     ACL SETUSER martlet on >PASSWORD resetkeys ~martlet:* resetchannels &martlet:* -@all
///         +select +info +wait +eval +publish +subscribe
///         +hmget +hlen +hset +hdel +zadd +zrem +zrange +zscore +zcard
///
/// With Sentinels that have users, the one there needs `-@all +sentinel|master`.
package final class RedisTokenStore: TokenStore {
    /// As in other drivers. Redis itself takes far longer keys.
    private static let longestKey = 2_000
    /// The most records on a page, so that a listing without a limit stays bounded.
    private static let largestPage = 2_000

    private let layout: Layout
    private let primary: PrimaryRecord
    /// Tells this object's hints from those of others.
    private let sender: UInt64
    private let reader: Connection
    private let writer: Connection
    private let broadcaster: ChangeBroadcaster
    /// Serves both connections, and then ends the thread.
    private let serving: Task<Void, Never>

    /// Connects to the primary among the hosts.
    ///
    /// - Parameter createsMissing: whether a database without Martlet's records gets its mark.
    /// - Throws: ``StoreError/Code/unreachable`` where no host responds as a primary; ``StoreError/Code/unreadable`` for
    ///   keys of another program or of a later version; ``StoreError/Code/unwritable`` where the server refuses the user,
    ///   may drop records, or has a certificate that is not trusted.
    package static func open(
        _ server: RedisServer,
        createsMissing: Bool = true
    ) async throws(StoreError) -> RedisTokenStore {
        // Of its own: a loop that carries requests must not wait for a store, nor a store for requests.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (primary, broadcaster) = (PrimaryRecord(), ChangeBroadcaster())
        let sender = UInt64.random(in: .min ... .max)
        let writer = Connection(to: server, primary, on: group)
        let reader = Connection(
            to: server,
            primary,
            on: group,
            notified: { broadcaster.announce($0) },
            pushed: { message in
                guard message.count == 3, let bytes = message[2].bytes,
                    let hint = Layout.change(in: bytes, mark: primary.mark), hint.sender != sender
                else { return }
                broadcaster.announce(hint.change)
            }
        )
        do throws(SessionError) {
            let writing = try await writer.connect(creates: createsMissing)
            let reading = try await reader.connect(creates: nil)
            let serving = Task {
                await withTaskGroup { tasks in
                    tasks.addTask { await writer.serve(from: writing) }
                    tasks.addTask { await reader.serve(from: reading) }
                    let watching = Task { await reader.watchSentinels() }
                    await tasks.waitForAll()
                    watching.cancel()
                    await watching.value
                }
                try? await group.shutdownGracefully()
            }
            return RedisTokenStore(
                layout: Layout(prefix: server.prefix),
                primary: primary,
                sender: sender,
                reader: reader,
                writer: writer,
                broadcaster: broadcaster,
                serving: serving
            )
        } catch {
            try? await group.shutdownGracefully()
            throw StoreError(opening: error)
        }
    }

    private init(
        layout: Layout,
        primary: PrimaryRecord,
        sender: UInt64,
        reader: Connection,
        writer: Connection,
        broadcaster: ChangeBroadcaster,
        serving: Task<Void, Never>
    ) {
        self.layout = layout
        self.primary = primary
        self.sender = sender
        self.reader = reader
        self.writer = writer
        self.broadcaster = broadcaster
        self.serving = serving
    }

    deinit { self.end() }

    private func end() {
        self.broadcaster.finish()
        self.reader.close()
        self.writer.close()
        self.serving.cancel()
    }

    /// Ends all streams of changes and closes the connections. Later operations fail.
    package func close() async {
        self.end()
        await self.serving.value
    }

    package var guarantees: StoreGuarantees { StoreGuarantees(reach: .network, failover: .losesSuffix) }

    /// Whether the server does not have the records any more that this object has opened. It serves no call then; another
    /// object may be opened.
    package var hasLostRecords: Bool { self.primary.hasLostRecords }

    /// What an operator should look at, of what the server says about itself.
    package var warnings: [String] { self.primary.info?.warnings ?? [] }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        let reply = try await self.reader.run([Script.read(self.layout, key)])
        guard let found = reply.elements, found.count == 2, found[1].bytes == self.primary.mark else { throw self.lost }
        return try Self.record(in: found[0], at: key)
    }

    private static func record(in value: RESPValue, at key: RecordKey) throws(StoreError) -> StoredRecord? {
        guard value != .null else { return nil }
        guard let record = value.bytes.flatMap({ StoredRecord($0) }) else { throw Self.unreadable(key.rawValue) }
        return record
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        guard key.rawValue.utf8.count <= Self.longestKey else {
            throw StoreError(.invalid, "the key has more than \(Self.longestKey) bytes")
        }
        let mark = self.primary.mark
        let writing = Script.write(value, self.layout, at: key, as: version, expecting: expecting, mark: mark)
        let change = RecordChange(key: key, version: version)
        let listing = Script.list(self.layout, key, mark: mark)
        // A key that is there stays in the sorted set.
        if expecting != nil, try await self.run(change, [writing]) { return }
        for _ in 0..<Self.mostTries { if try await self.run(change, [listing, writing]) { return } }
        throw StoreError(.unreachable, "others removed the record again and again while it was written")
    }

    private static let mostTries = 8

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        let removing = Script.remove(self.layout, key, expecting: expecting, mark: self.primary.mark)
        let unlisting = Script.unlist(self.layout, key)
        _ = try await self.run(RecordChange(key: key, version: nil), [removing, unlisting], deciding: 0)
    }

    /// Runs the commands of one change, and tells the others of it.
    ///
    /// - Parameter index: the command whose reply counts; `nil`: the last.
    /// - Returns: false if the key is not in the sorted set.
    private func run(
        _ change: RecordChange,
        _ commands: [Command],
        deciding index: Int? = nil
    ) async throws(StoreError) -> Bool {
        let publishing = Script.publish(self.layout, change, by: self.sender, mark: self.primary.mark)
        let reply = try await self.writer.run(commands + [publishing], deciding: index ?? commands.count - 1)
        switch Script.Outcome(reply) {
        case .done:
            self.broadcaster.announce(change)
            return true
        case .unlisted: return false
        case .conflict: throw .conflict(try Self.record(in: reply.elements?.last ?? .null, at: change.key))
        case .damaged: throw Self.unreadable(change.key.rawValue)
        default: throw self.lost
        }
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        let limit = min(limit, Self.largestPage)
        let reply = try await self.reader.run(
            [Script.page(self.layout, prefix, after: after, limit: limit, mark: self.primary.mark)],
            isLarge: true
        )
        switch Script.Outcome(reply) {
        case .done: return try Self.page(in: reply.elements?.dropFirst() ?? [])
        case .damaged: throw Self.unreadable("a key under \(prefix.rawValue)")
        default: throw self.lost
        }
    }

    /// Keys and values by turns.
    private static func page(in elements: ArraySlice<RESPValue>) throws(StoreError) -> [KeyedRecord] {
        var page: [KeyedRecord] = []
        for index in stride(from: elements.startIndex, to: elements.endIndex - 1, by: 2) {
            guard let key = elements[index].text else { throw Self.unreadable("a key that is not UTF-8") }
            guard let stored = elements[index + 1].bytes.flatMap({ StoredRecord($0) }) else {
                throw Self.unreadable(key)
            }
            page.append(KeyedRecord(key: RecordKey(rawValue: key), stored: stored))
        }
        return page
    }

    package func changes() -> AsyncStream<RecordChange> { self.broadcaster.listen() }

    /// Asks the server about itself.
    package func condition() async throws(StoreError) -> StoreCondition {
        let info: ServerInfo
        let reply = try await self.reader.run([.info], isOfRecords: false)
        do throws(SessionError) {
            info = try ServerInfo(reply)
            try self.primary.learn(info)
        } catch {
            throw StoreError(.unreachable, error.message)
        }
        return StoreCondition(
            time: info.time,
            isReplicated: self.primary.awaitsReplica(on: info) && info.connectedReplicas > 0,
            // The replica that is promoted need not be the one that has confirmed the last writes.
            losesNothing: false,
            connectedReplicas: info.connectedReplicas
        )
    }

    private var lost: StoreError {
        self.primary.lostRecords()
        return StoreError(.unreachable, SessionError.lostRecords.message)
    }

    private static func unreadable(_ what: String) -> StoreError {
        StoreError(.unreadable, "what is stored at \(what) is not a record")
    }
}
