internal import Glibc
internal import SystemSupport
package import TokenModel

/// The files of the incarnations (starts of this program) in one `state_dir`: `boots/<incarnation id>`, which its
/// process locks for as long as it lives, and `journal/<incarnation id>`.
///
/// A process that gets the lock of another incarnation's file knows that the other process is dead, if it runs under
/// the kernel boot that the file names: the kernel grants the lock only once the other process has ended, and an
/// incarnation id is never reused. Under another kernel or another boot the lock proves nothing, because hosts may
/// share the directory and not all file systems pass locks from host to host. A missing file proves nothing either,
/// because another host may share the store.
struct IncarnationFiles: Sendable {
    let stateDirectory: String
    /// The store that this process uses. Incarnations of another store have other claims, and their journals do not
    /// open here.
    let storeID: StoreID
    /// The id of the kernel's current boot; `nil` if the kernel does not say.
    var kernel: String? = KernelBoot.id

    private var incarnations: String { "\(self.stateDirectory)/boots" }
    private var journals: String { "\(self.stateDirectory)/journal" }

    func path(of incarnation: IncarnationID) -> String { "\(self.incarnations)/\(incarnation)" }
    func journalPath(of incarnation: IncarnationID) -> String { "\(self.journals)/\(incarnation)" }

    /// Makes and locks the file of a new incarnation. The file gets its name only once it is locked, so no process
    /// finds it unlocked before its process has ended.
    func begin(_ incarnation: IncarnationID) throws(SystemCallError) -> IncarnationLock {
        try PrivateDirectory.make(self.incarnations)
        try PrivateDirectory.make(self.journals)
        let path = self.path(of: incarnation)
        let temporary = "\(self.incarnations)/.\(incarnation)"
        let file = try OpenFile(opening: temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        defer { try? PrivateDirectory.remove(temporary) }
        guard try file.lock() else { throw SystemCallError(EWOULDBLOCK, "can't lock \(path)") }
        try file.write(IncarnationLock.contents(of: self.storeID, under: self.kernel), at: 0)
        try file.synchronize()
        guard unsafe link(temporary, path) == 0 else { throw SystemCallError(errno, "can't make \(path)") }
        do throws(SystemCallError) {
            // A journal is useless without the file that names its owner.
            try WholeFile.synchronize(directory: self.incarnations)
        } catch {
            // Without its lock the file would say that this incarnation, which continues without a journal, is dead. If
            // the file can't be removed, keep it locked, even if a power loss may then make the journal useless.
            if unsafe unlink(path) == 0 { throw error }
        }
        return IncarnationLock(path: path, of: self.storeID, file)
    }

    /// The lock of an incarnation that has ended; `nil` if it is running or has no file of this user. Never waits.
    func seize(_ incarnation: IncarnationID) -> IncarnationLock? {
        guard incarnation.isWellFormed else { return nil }
        let path = self.path(of: incarnation)
        guard let file = try? OpenFile(opening: path, O_RDWR | O_NOFOLLOW | O_NONBLOCK),
            let ownership = try? file.ownership(), ownership.isRegular, ownership.owner == geteuid(),
            (try? file.lock()) == true
        else { return nil }
        return IncarnationLock(path: path, of: self.storeID, file)
    }

    /// Whether an incarnation has a journal.
    func hasJournal(_ incarnation: IncarnationID) -> Bool {
        unsafe access(self.journalPath(of: incarnation), F_OK) == 0 || errno != ENOENT
    }

    /// The incarnations that have a journal here and are not known to belong to another store.
    func withJournals() throws(SystemCallError) -> [IncarnationID] {
        let names: [String]
        do throws(SystemCallError) {
            names = try PrivateDirectory.names(in: self.journals)
        } catch {
            guard error.isMissing else { throw error }
            return []
        }
        return names.map(IncarnationID.init(rawValue:)).filter { $0.isWellFormed && !self.isOfAnotherStore($0) }
    }

    /// Whether the incarnation's file names another store. It may be running.
    private func isOfAnotherStore(_ incarnation: IncarnationID) -> Bool {
        guard let file = try? OpenFile(opening: self.path(of: incarnation), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            return false
        }
        let contents = IncarnationLock.contents(of: self.storeID)
        return (try? file.read(limit: contents.count)).map { $0 != contents } ?? false
    }

    /// The incarnations that have a file here.
    func all() -> [IncarnationID] {
        ((try? PrivateDirectory.names(in: self.incarnations)) ?? []).map(IncarnationID.init(rawValue:)).filter(
            \.isWellFormed
        )
    }
}

extension OpenedStore {
    /// Whether an incarnation that uses this store has ended for certain: its process had a lock in `stateDirectory`, and
    /// has it no longer. `false` proves nothing. Changes nothing.
    package func isEnded(_ incarnation: IncarnationID, in stateDirectory: String) -> Bool {
        let files = IncarnationFiles(stateDirectory: stateDirectory, storeID: self.storeID)
        guard let lock = files.seize(incarnation), lock.isOfStore else { return false }
        return self.store.guarantees.reach != .network || lock.isUnder(files.kernel)
    }
}

extension IncarnationID {
    /// Whether this is an id as Martlet draws them. An id from a record must not name any other file.
    fileprivate var isWellFormed: Bool {
        self.rawValue.utf8.count == 32
            && self.rawValue.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The id of the current boot of the host's kernel. Containers on one host share it, and no two hosts do. A machine id
/// is no substitute, because disk images contain copies of it.
enum KernelBoot {
    /// The id that Linux draws at each boot; `nil` if it can't be read.
    static let id: String? = {
        guard let bytes = try? OpenFile.contents(of: "/proc/sys/kernel/random/boot_id", limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        return text.isEmpty ? nil : text
    }()
}

/// The lock on an incarnation's file, held for as long as this object lives. The incarnation is this process's own, or
/// one that has ended.
///
/// The file names the store of the incarnation and the kernel boot. After that it says whether another process has
/// found the incarnation dead.
final class IncarnationLock: Sendable {
    private let path: String
    private let file: OpenFile
    private let storeID: StoreID
    /// The contents of the file when it was opened.
    private let head: [UInt8]

    init(path: String, of storeID: StoreID, _ file: consuming OpenFile) {
        self.path = path
        self.storeID = storeID
        self.head = (try? file.read(limit: 4_096)) ?? []
        self.file = file
    }

    /// The first part of the file of an incarnation: its store.
    static func contents(of storeID: StoreID) -> [UInt8] { Array(storeID.rawValue.utf8) }

    /// The second part: the kernel boot under which the lock was taken.
    private static func mark(of kernel: String) -> [UInt8] { Array("@\(kernel)".utf8) }

    /// The contents of the file of a new incarnation.
    static func contents(of storeID: StoreID, under kernel: String?) -> [UInt8] {
        Self.contents(of: storeID) + (kernel.map(Self.mark) ?? [])
    }

    /// Whether the incarnation belongs to the store that this file was opened for. Only then does its end mean
    /// anything.
    var isOfStore: Bool {
        self.head.starts(with: Self.contents(of: self.storeID))
    }

    /// Whether the lock was taken under the kernel boot `kernel`. Only then does getting it prove that the process has
    /// ended.
    func isUnder(_ kernel: String?) -> Bool {
        kernel.map { self.head.starts(with: Self.contents(of: self.storeID, under: $0)) } ?? false
    }

    /// Whether the incarnation stopped in order. It left its journal because the store may lose what it has acknowledged.
    var hasEndedInOrder: Bool { self.head.contains(Self.orderMark) }

    /// Notes in the file that the incarnation stops in order.
    func markEnd() { try? self.file.write([Self.orderMark], at: self.head.count) }

    /// Whether a process has found the incarnation dead, and taken over what its journal owed.
    var isMarkedDead: Bool { self.head.last == Self.deadMark }

    /// Marks the incarnation as dead in the file, whose modification time then says since when. A second call does
    /// nothing.
    func markDead() {
        guard !self.isMarkedDead else { return }
        try? self.file.write([Self.deadMark], at: self.head.count)
    }

    /// Neither is in an id.
    private static let deadMark = UInt8(ascii: "!")
    private static let orderMark = UInt8(ascii: "~")

    /// Updates the modification time of the file: its process is running.
    func touch(under kernel: String?) {
        try? self.file.write(Self.contents(of: self.storeID, under: kernel), at: 0)
    }

    /// Whether the last change of the file, by its incarnation or by the process that found it dead, is more than
    /// `seconds` before `now`.
    func isOlder(than seconds: Int, at now: Int) -> Bool {
        guard let extent = try? self.file.extent() else { return false }
        return now - extent.changedAt > seconds
    }

    /// Removes the file. From then on nothing can be concluded about the incarnation.
    func remove() {
        try? PrivateDirectory.remove(self.path)
    }
}
