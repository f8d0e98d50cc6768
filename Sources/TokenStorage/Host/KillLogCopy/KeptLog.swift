internal import Glibc
internal import LocalFiles
package import TokenModel

/// What this host keeps of a store's kill log, in `state_dir`: a store that was put back from a backup, or has lost writes
/// that it had acknowledged, is found out by it, and what was killed stays dead.
///
/// Entries are only added. Several processes may share the directory: whoever adds holds the lock, and takes in first what
/// the others have added. Beside the entries stand *orders*: kills that the store has not taken yet.
///
/// Works on a thread of its own.
package actor KeptLog: KillLogCopy {
    private let executor = BlockingExecutor(label: "martlet.kept-log")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    private let parent: String
    private let store: String
    let directory: String
    private var ids: Set<String> = []
    /// How many full segments there are; those are not read again.
    private var full = 0

    /// - Parameter store: whose log it is, a name for a directory.
    package init(in stateDirectory: String, of store: String) {
        self.init(beside: "\(stateDirectory)/kill-log", of: store)
    }

    private init(beside parent: String, of store: String) {
        self.parent = parent
        self.store = store
        self.directory = "\(parent)/\(store)"
    }

    /// The name under which the log of a store in memory is kept.
    package static let memory = "memory"

    /// Whether the store ends with the process, so that only what stands here outlives it.
    package nonisolated var isAllThatLasts: Bool { self.store == Self.memory }

    /// All entries, in the order in which they came.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where a file of them is damaged.
    package func entries() throws(StoreError) -> [KeptEntry] {
        self.full = 0
        self.ids = []
        var entries: [KeptEntry] = []
        while let segment = try self.segment(self.full) {
            entries += segment.entries
            guard segment.isFull else { break }
            self.full += 1
        }
        self.ids = Set(entries.map(\.id))
        return entries
    }

    /// What is kept of other stores' logs, but for the memory's, which is the same at each start.
    package func others() throws(StoreError) -> [(store: String, log: KeptLog)] {
        let names: [String]
        do throws(SystemCallError) {
            names = try PrivateDirectory.names(in: self.parent)
        } catch {
            guard !error.isMissing else { return [] }
            throw StoreError(.unreadable, "the kill logs in state_dir: \(error.message)")
        }
        return names.filter { $0 != self.store && $0 != Self.memory }.map { ($0, KeptLog(beside: self.parent, of: $0)) }
    }

    /// Makes another store's log this one's, which has none.
    package func takeOver(_ store: String) throws(StoreError) {
        guard unsafe rename("\(self.parent)/\(store)", self.directory) == 0 else {
            throw StoreError(.unwritable, SystemCallError(errno, "can't rename \(self.parent)/\(store)").message)
        }
        self.full = 0
        self.ids = []
    }

    /// Adds those that are not there yet; they would survive a loss of power when this returns.
    ///
    /// - Throws: ``StoreError/Code/unwritable`` where the directory can't be written.
    package func add(_ entries: [KeptEntry]) throws(StoreError) {
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

    private func addLocked(_ entries: [KeptEntry]) throws(StoreError) {
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

    /// Waits for a second at most: whoever holds it may stand still.
    private func lock() throws(SystemCallError) -> OpenFile {
        let path = "\(self.directory)/lock"
        for _ in 0..<500 {
            let file = try OpenFile(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
            if try file.lock() { return file }
            usleep(2_000)
        }
        throw SystemCallError(EWOULDBLOCK, "can't lock \(path)")
    }
}

/// An entry of a log as this host keeps it beside the store.
package struct KeptEntry: Equatable, Sendable {
    /// Where it stands in the store's log.
    package let number: UInt64
    /// The entry's own, whatever its number: what tells two entries apart.
    package let id: String
    package let bytes: Secret

    package init(number: UInt64, id: String, bytes: Secret) {
        self.number = number
        self.id = id
        self.bytes = bytes
    }
}

/// A few hundred entries in one file. The last one is put in its place anew with each entry that comes; those before it
/// are full, and never touched again.
struct KeptSegment: Equatable, Sendable {
    /// How many entries a segment has at most.
    static let capacity = 256
    /// With how many bytes of entries nothing is added. One entry is at most a record's 64 KiB.
    private static let fullSize = 2 << 20
    /// No segment's file is larger, in bytes.
    static let sizeLimit = 4 << 20

    var entries: [KeptEntry] = []

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

    init(entries: [KeptEntry] = []) { self.entries = entries }

    /// - Throws: ``StoreError/Code/unreadable`` for bytes that ``encoded()`` did not write.
    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.entries = try reader.readArray { reader throws(StoreError) in
            KeptEntry(number: try reader.read(), id: try reader.read(), bytes: try reader.read())
        }
        try reader.finish()
    }
}
