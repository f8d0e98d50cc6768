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
