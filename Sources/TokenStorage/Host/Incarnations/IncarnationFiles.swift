internal import Glibc
internal import LocalFiles
internal import TokenModel

/// The files that the starts of this program have in one `state_dir`: `incarnations/<incarnation id>`, locked by the process for as long
/// as it lives, and `journal/<incarnation id>`.
///
/// Whoever gets the lock of another incarnation's file, under the incarnation of the kernel that the file names, knows that process dead:
/// the kernel gives it only when the process is gone, and a incarnation id is never used twice. Under another kernel, or another
/// boot of it, nothing follows: hosts may share the directory, and not all file systems tell one host of another's locks.
/// Nor does anything follow from a file that isn't there: another host may share the store.
struct IncarnationFiles: Sendable {
    let stateDirectory: String
    /// The store that this process uses: another's incarnations have other claims, and journals that don't open here.
    let storeID: StoreID
    /// This boot of the kernel; `nil` where it does not say.
    var kernel: String? = KernelBoot.id

    private var incarnations: String { "\(self.stateDirectory)/boots" }
    private var journals: String { "\(self.stateDirectory)/journal" }

    func path(of incarnation: IncarnationID) -> String { "\(self.incarnations)/\(incarnation)" }
    func journalPath(of incarnation: IncarnationID) -> String { "\(self.journals)/\(incarnation)" }

    /// Makes the file of an incarnation that begins, and locks it. It has its name only once it is locked: nobody finds it
    /// unlocked before its process has ended.
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
            // A journal is worth nothing without the file that says whose it is.
            try WholeFile.synchronize(directory: self.incarnations)
        } catch {
            // Unlocked it would say that this incarnation is dead, which goes on without: then rather a lock that a loss of power
            // may take the journal from.
            if unsafe unlink(path) == 0 { throw error }
        }
        return IncarnationLock(path: path, of: self.storeID, file)
    }

    /// The lock of an incarnation that has ended; `nil` where it runs, or there is no file of its that is ours. Never waits.
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

    /// The incarnations that have a journal here, and are not known to be of another store.
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

    /// What an incarnation's file says, whether it runs or not.
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

extension IncarnationID {
    /// Whether it is one as we draw them: what stands in a record must not name any other file.
    fileprivate var isWellFormed: Bool {
        self.rawValue.utf8.count == 32
            && self.rawValue.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The running boot of the host's kernel: containers of one host share it, and no two hosts do. A machine's own id is no
/// substitute, since images carry copies of it.
enum KernelBoot {
    /// As Linux draws it at each boot; `nil` where it does not say.
    static let id: String? = {
        guard let bytes = try? OpenFile.contents(of: "/proc/sys/kernel/random/boot_id", limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        return text.isEmpty ? nil : text
    }()
}

/// The lock on an incarnation's file, held for as long as this object lives: of this process's own boot, or of one that has ended.
///
/// The file says which store the incarnation is of, and, behind that, whether somebody has found it dead.
final class IncarnationLock: Sendable {
    private let path: String
    private let file: OpenFile
    private let storeID: StoreID
    /// What the file held when it was opened.
    private let head: [UInt8]

    init(path: String, of storeID: StoreID, _ file: consuming OpenFile) {
        self.path = path
        self.storeID = storeID
        self.head = (try? file.read(limit: 4_096)) ?? []
        self.file = file
    }

    /// What the file of an incarnation of a store begins with.
    static func contents(of storeID: StoreID) -> [UInt8] { Array(storeID.rawValue.utf8) }

    /// What follows: under which incarnation of which kernel the lock was taken.
    private static func mark(of kernel: String) -> [UInt8] { Array("@\(kernel)".utf8) }

    /// What the file of an incarnation that begins holds.
    static func contents(of storeID: StoreID, under kernel: String?) -> [UInt8] {
        Self.contents(of: storeID) + (kernel.map(Self.mark) ?? [])
    }

    /// Whether the incarnation is of the store that this was opened for: only then does anything follow from its end.
    var isOfStore: Bool {
        self.head.starts(with: Self.contents(of: self.storeID))
    }

    /// Whether the lock was taken under that incarnation of the kernel: only then does the kernel that gives it now know that the
    /// process has ended.
    func isUnder(_ kernel: String?) -> Bool {
        kernel.map { self.head.starts(with: Self.contents(of: self.storeID, under: $0)) } ?? false
    }

    /// Writes down that the incarnation is known dead; the file's time says since when. Once is enough.
    func bury() {
        guard self.head.last != Self.buriedMark else { return }
        try? self.file.write([Self.buriedMark], at: self.head.count)
    }

    /// Ends no hexadecimal id.
    private static let buriedMark = UInt8(ascii: "!")

    /// Sets the file's time: its process runs.
    func touch(under kernel: String?) {
        try? self.file.write(Self.contents(of: self.storeID, under: kernel), at: 0)
    }

    /// Whether the file was changed last, by its incarnation or whoever found that dead, longer than `seconds` before `now`.
    func isOlder(than seconds: Int, at now: Int) -> Bool {
        guard let extent = try? self.file.extent() else { return false }
        return now - extent.changedAt > seconds
    }

    /// Takes the file's name away. From then on nothing is inferred about the incarnation.
    func remove() {
        try? PrivateDirectory.remove(self.path)
    }
}
