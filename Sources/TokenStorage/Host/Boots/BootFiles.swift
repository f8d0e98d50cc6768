internal import Glibc
internal import LocalFiles
internal import TokenModel

/// The files that the starts of this program have in one `state_dir`: `boots/<boot id>`, locked by the process for as long
/// as it lives, and `journal/<boot id>`.
///
/// Whoever gets the lock of another boot's file, under the boot of the kernel that the file names, knows that process dead:
/// the kernel gives it only when the process is gone, and a boot id is never used twice. Under another kernel, or another
/// boot of it, nothing follows: hosts may share the directory, and not all file systems tell one host of another's locks.
/// Nor does anything follow from a file that isn't there: another host may share the store.
struct BootFiles: Sendable {
    let stateDirectory: String
    /// The store that this process uses: another's boots have other claims, and journals that don't open here.
    let storeID: StoreID
    /// This boot of the kernel; `nil` where it does not say.
    var kernel: String? = KernelBoot.id

    private var boots: String { "\(self.stateDirectory)/boots" }
    private var journals: String { "\(self.stateDirectory)/journal" }

    func path(of boot: BootID) -> String { "\(self.boots)/\(boot)" }
    func journalPath(of boot: BootID) -> String { "\(self.journals)/\(boot)" }

    /// Makes the file of a boot that begins, and locks it. It has its name only once it is locked: nobody finds it
    /// unlocked before its process has ended.
    func begin(_ boot: BootID) throws(SystemCallError) -> BootLock {
        try PrivateDirectory.make(self.boots)
        try PrivateDirectory.make(self.journals)
        let path = self.path(of: boot)
        let temporary = "\(self.boots)/.\(boot)"
        let file = try OpenFile(opening: temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        defer { try? PrivateDirectory.remove(temporary) }
        guard try file.lock() else { throw SystemCallError(EWOULDBLOCK, "can't lock \(path)") }
        try file.write(BootLock.contents(of: self.storeID, under: self.kernel), at: 0)
        try file.synchronize()
        guard unsafe link(temporary, path) == 0 else { throw SystemCallError(errno, "can't make \(path)") }
        do throws(SystemCallError) {
            // A journal is worth nothing without the file that says whose it is.
            try WholeFile.synchronize(directory: self.boots)
        } catch {
            // Unlocked it would say that this boot is dead, which goes on without: then rather a lock that a loss of power
            // may take the journal from.
            if unsafe unlink(path) == 0 { throw error }
        }
        return BootLock(path: path, of: self.storeID, file)
    }

    /// The lock of a boot that has ended; `nil` where it runs, or there is no file of its that is ours. Never waits.
    func seize(_ boot: BootID) -> BootLock? {
        guard boot.isWellFormed else { return nil }
        let path = self.path(of: boot)
        guard let file = try? OpenFile(opening: path, O_RDWR | O_NOFOLLOW | O_NONBLOCK),
            let ownership = try? file.ownership(), ownership.isRegular, ownership.owner == geteuid(),
            (try? file.lock()) == true
        else { return nil }
        return BootLock(path: path, of: self.storeID, file)
    }

    /// Whether a boot has a journal.
    func hasJournal(_ boot: BootID) -> Bool {
        unsafe access(self.journalPath(of: boot), F_OK) == 0 || errno != ENOENT
    }

    /// The boots that have a journal here, and are not known to be of another store.
    func withJournals() throws(SystemCallError) -> [BootID] {
        let names: [String]
        do throws(SystemCallError) {
            names = try PrivateDirectory.names(in: self.journals)
        } catch {
            guard error.isMissing else { throw error }
            return []
        }
        return names.map(BootID.init(rawValue:)).filter { $0.isWellFormed && !self.isOfAnotherStore($0) }
    }

    /// What a boot's file says, whether it runs or not.
    private func isOfAnotherStore(_ boot: BootID) -> Bool {
        guard let file = try? OpenFile(opening: self.path(of: boot), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            return false
        }
        let contents = BootLock.contents(of: self.storeID)
        return (try? file.read(limit: contents.count)).map { $0 != contents } ?? false
    }

    /// The boots that have a file here.
    func all() -> [BootID] {
        ((try? PrivateDirectory.names(in: self.boots)) ?? []).map(BootID.init(rawValue:)).filter(\.isWellFormed)
    }
}

extension BootID {
    /// Whether it is one as we draw them: what stands in a record must not name any other file.
    fileprivate var isWellFormed: Bool {
        self.rawValue.utf8.count == 32
            && self.rawValue.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
