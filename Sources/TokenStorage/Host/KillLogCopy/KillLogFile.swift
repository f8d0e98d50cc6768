internal import Glibc
internal import SystemSupport
package import TokenModel

/// This host's copy of a store's kill log, in `state_dir`. It detects a store that was restored from a backup or has
/// lost acknowledged writes, so that killed tokens stay dead.
///
/// Entries are only added. Several processes may share the directory: each takes a lock to add entries, and first reads
/// what the others have added. *Pending kills*, which the store has not yet taken, are files in the same directory.
///
/// Runs on a dispatch queue of its own, because its calls block.
package actor KillLogFile: KillLogCopy {
    private let executor = BlockingExecutor(label: "martlet.kept-log")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    private let parent: String
    private let store: String
    let directory: String
    private var ids: Set<String> = []
    /// The number of full segments. They are not read again.
    private var full = 0

    /// - Parameter store: the store of the log, as the name of a directory.
    package init(in stateDirectory: String, of store: String) {
        self.init(beside: "\(stateDirectory)/kill-log", of: store)
    }

    private init(beside parent: String, of store: String) {
        self.parent = parent
        self.store = store
        self.directory = "\(parent)/\(store)"
    }

    /// The name of the log of a store in memory.
    package static let memory = "memory"

    /// Whether the store ends with the process, so that only this copy outlives the process.
    package nonisolated var storeEndsWithProcess: Bool { self.store == Self.memory }

    /// All entries, in the order in which they were added.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` if one of their files is damaged.
    package func entries() throws(StoreError) -> [KillLogFileEntry] {
        self.full = 0
        self.ids = []
        var entries: [KillLogFileEntry] = []
        while let segment = try self.segment(self.full) {
            entries += segment.entries
            guard segment.isFull else { break }
            self.full += 1
        }
        self.ids = Set(entries.map(\.id))
        return entries
    }

    /// The copies of other stores' logs, except that of the store in memory, whose name is the same at each start.
    package func others() throws(StoreError) -> [(store: String, log: KillLogFile)] {
        let names: [String]
        do throws(SystemCallError) {
            names = try PrivateDirectory.names(in: self.parent)
        } catch {
            guard !error.isMissing else { return [] }
            throw StoreError(.unreadable, "the kill logs in state_dir: \(error.message)")
        }
        return names.filter { $0 != self.store && $0 != Self.memory }.map {
            ($0, KillLogFile(beside: self.parent, of: $0))
        }
    }

    /// Renames another store's log to be this store's, which has none.
    package func takeOver(_ store: String) throws(StoreError) {
        guard unsafe rename("\(self.parent)/\(store)", self.directory) == 0 else {
            throw StoreError(.unwritable, SystemCallError(errno, "can't rename \(self.parent)/\(store)").message)
        }
        self.full = 0
        self.ids = []
    }

    /// Adds the entries that are not there yet. They survive a power loss once this returns.
    ///
    /// - Throws: ``StoreError/Code/unwritable`` if the directory can't be written.
    package func add(_ entries: [KillLogFileEntry]) throws(StoreError) {
        guard entries.contains(where: { !self.ids.contains($0.id) }) else { return }
        do throws(SystemCallError) {
            try self.makeDirectory()
            let lock = try self.lock()
            do throws(StoreError) { try self.addLocked(entries) } catch { throw SystemCallError(EIO, error.message) }
            _ = consume lock
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    private func addLocked(_ entries: [KillLogFileEntry]) throws(StoreError) {
        var last = KeptSegment()
        while let segment = try self.segment(self.full) {
            self.ids.formUnion(segment.entries.map(\.id))
            guard segment.isFull else {
                last = segment
                break
            }
            self.full += 1
        }
        var hasChanged = false
        for entry in entries where !self.ids.contains(entry.id) {
            if last.isFull {
                try self.write(last)
                self.full += 1
                last = KeptSegment()
            }
            last.entries.append(entry)
            hasChanged = true
        }
        guard hasChanged else { return }
        try self.write(last)
        self.ids.formUnion(last.entries.map(\.id))
    }

    private func segment(_ index: Int) throws(StoreError) -> KeptSegment? {
        guard let bytes = try KeptBytes.read(self.path(index), limit: KeptSegment.sizeLimit) else { return nil }
        return try KeptSegment(decoding: bytes)
    }

    private func write(_ segment: KeptSegment) throws(StoreError) {
        do throws(SystemCallError) {
            try WholeFile.replace(at: self.path(self.full), with: KeptBytes.file(of: segment.encoded()))
            self.ids.formUnion(segment.entries.map(\.id))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    private func path(_ index: Int) -> String { "\(self.directory)/segment-\(index)" }

    func makeDirectory() throws(SystemCallError) {
        try PrivateDirectory.make(self.parent)
        try PrivateDirectory.make(self.directory)
    }

    /// Waits for at most 5 s, because the process that holds the lock may be stopped. For the first second it queues: a
    /// process that adds without a pause would get the lock again before any other tries.
    private func lock() throws(SystemCallError) -> OpenFile {
        let path = "\(self.directory)/lock"
        let file = try OpenFile(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        for attempt in 0..<2_500 {
            if file.lockQueue() || attempt >= 500, try file.lock() {
                file.unlockQueue()
                return file
            }
            usleep(2_000)
        }
        throw SystemCallError(EWOULDBLOCK, "can't lock \(path)")
    }
}

/// An entry of the kill log, as this host keeps it.
package struct KillLogFileEntry: Equatable, Sendable {
    /// The number of the entry in the store's log.
    package let number: UInt64
    /// The id of the entry, which identifies it whatever its number.
    package let id: String
    package let bytes: Secret

    package init(number: UInt64, id: String, bytes: Secret) {
        self.number = number
        self.id = id
        self.bytes = bytes
    }
}

/// Up to 256 entries in one file. The file of the last segment is replaced with each new entry; the files of full
/// segments never change.
struct KeptSegment: Equatable, Sendable {
    /// The most entries in a segment.
    static let capacity = 256
    /// The total size of entries in bytes at which a segment counts as full. One entry has at most the 64 KiB of a
    /// record.
    private static let fullSize = 2 << 20
    /// The size limit of a segment file in bytes.
    static let sizeLimit = 4 << 20

    var entries: [KillLogFileEntry] = []

    var isFull: Bool {
        self.entries.count >= Self.capacity || self.entries.reduce(0) { $0 + $1.bytes.count } >= Self.fullSize
    }

    private static let format: UInt8 = 1

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.entries) { entry in
            writer.write(entry.number)
            writer.write(entry.id)
            writer.write(entry.bytes)
        }
        return writer.finish()
    }

    init(entries: [KillLogFileEntry] = []) { self.entries = entries }

    /// - Throws: ``StoreError/Code/unreadable`` for bytes that ``encoded()`` did not write.
    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.entries = try reader.readArray { reader throws(StoreError) in
            KillLogFileEntry(number: try reader.read(), id: try reader.read(), bytes: try reader.read())
        }
        try reader.finish()
    }
}
