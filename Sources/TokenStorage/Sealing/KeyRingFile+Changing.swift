internal import Glibc
internal import LocalFiles
internal import TokenModel

/// Changing the keys of a file, for whoever holds its ``KeyFileLock``. The file is there whole at any moment, and what is
/// not a key in it stays.
extension KeyRingFile {
    /// Puts a new key before the others: it seals from now on.
    package func add(_ key: SealingKey) throws(KeyRingError) -> KeyRing {
        try self.rewrite { text in text.adding(key) }
    }

    /// Takes keys out. The one that seals stays.
    package func drop(_ keys: Set<SealingKey.ID>) throws(KeyRingError) -> KeyRing {
        try self.rewrite { text in text.dropping(keys) }
    }

    private func rewrite(_ change: (KeyRingText) -> KeyRingText) throws(KeyRingError) -> KeyRing {
        let changed = change(try self.text())
        // Nothing is put there that would not be taken.
        let ring = try changed.parsed()
        do throws(SystemCallError) {
            try WholeFile.replace(at: self.name, with: changed.text)
        } catch {
            throw KeyRingError(
                .inaccessible,
                "\(error.message): the file of sealing keys can't be changed here; where it is put there from elsewhere, "
                    + "put the new key on a line before the others there, wait until it has come, and run this again"
            )
        }
        return ring
    }
}

/// Held by the one who changes a file of keys; let go of with the last reference. Two at once would lose each other's keys.
package struct KeyFileLock: ~Copyable {
    private let descriptor: CInt

    /// - Parameter path: of the file of keys; the lock is an empty file beside it, which stays.
    package init(for path: String) throws(KeyRingError) {
        let descriptor = unsafe Glibc.open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw KeyRingError(
                .inaccessible,
                "\(SystemCallError(errno, "can't make \(path).lock").message): it keeps two from changing the keys at once"
            )
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(descriptor)
            throw KeyRingError(.inaccessible, "another process changes the keys in \(path) just now")
        }
        self.descriptor = descriptor
    }

    deinit {
        // As in `OpenFile`: else it might outlive this in a process that is just being started.
        _ = flock(self.descriptor, LOCK_UN)
        Glibc.close(self.descriptor)
    }
}
