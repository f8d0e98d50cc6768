internal import Glibc
internal import SystemSupport
internal import TokenModel

/// A file of keys (``KeyRingText``). It is made at first start if that is allowed.
package struct KeyRingFile: KeyRingSource {
    private let path: String
    private let isMadeWhenMissing: Bool
    private let stateDirectory: String?

    /// - Parameters:
    ///   - isMadeWhenMissing: `false` if several hosts share a store, because each would make its own key.
    ///   - stateDirectory: a key file outside this directory may belong to another user, who mounts it. `nil`: no key
    ///     file may.
    package init(path: String, isMadeWhenMissing: Bool, stateDirectory: String? = nil) {
        self.path = path
        self.isMadeWhenMissing = isMadeWhenMissing
        self.stateDirectory = stateDirectory
    }

    package var name: String { self.path }

    package var revision: KeyRingRevision? { KeyRingRevision(ofFile: self.path) }

    package func existing() throws(KeyRingError) -> KeyRing? {
        do throws(KeyRingError) {
            return try self.text().parsed()
        } catch {
            guard error.code != .missing else { return nil }
            throw error
        }
    }

    /// The text of the file.
    func text() throws(KeyRingError) -> KeyRingText {
        do throws(FileError) {
            let isMounted = self.stateDirectory.map { SecretFile.isOutside(self.path, of: $0) } ?? false
            var bytes = try SecretFile.contents(of: self.path, mayBelongToOthers: isMounted)
            defer { bytes.wipe() }
            return KeyRingText(Secret(bytes), name: self.path)
        } catch {
            switch error.code {
            case .missing: throw KeyRingError(.missing, "there is no sealing key at \(self.path)")
            case .exposed: throw KeyRingError(.exposed, "\(self.path) \(error.message): it holds the sealing keys")
            case .tooLarge, .empty:
                throw KeyRingError(.malformed, "\(self.path) is no list of sealing keys: it \(error.message)")
            case .unreadable:
                throw KeyRingError(
                    .inaccessible,
                    "\(self.path) \(error.message): the sealing keys must be in a file this user can read"
                )
            }
        }
    }

    package func make() throws(KeyRingError) -> KeyRing {
        guard self.isMadeWhenMissing else {
            throw KeyRingError(
                .missing,
                "there is no sealing key at \(self.path), and a shared store's must be given to all replicas alike: "
                    + "make one with: (umask 077; openssl rand -base64 \(SealingKey.byteCount) > \(self.path))"
            )
        }
        let text = KeyRingText(holding: .random(), name: self.path)
        do {
            // It doesn't matter whether this call made the file or lost a race: the file that is there now counts.
            _ = try WholeFile.create(at: self.path, holding: text.text)
        } catch {
            throw KeyRingError(
                .inaccessible,
                "\(error.message): the sealing key is made there at first start, in a directory this user can write"
            )
        }
        guard let keyRing = try self.existing() else {
            throw KeyRingError(.missing, "\(self.path) was removed right after it had been made")
        }
        return keyRing
    }
}

/// Changes to the keys of a file, for the holder of its ``KeyFileLock``. Each change replaces the file atomically and
/// keeps its comments and empty lines.
extension KeyRingFile {
    /// Puts a new key first: it seals from now on.
    package func add(_ key: SealingKey) throws(KeyRingError) -> KeyRing {
        try self.rewrite { text in text.adding(key) }
    }

    /// Removes keys. The key that seals stays.
    package func drop(_ keys: Set<SealingKey.ID>) throws(KeyRingError) -> KeyRing {
        try self.rewrite { text in text.dropping(keys) }
    }

    private func rewrite(_ change: (KeyRingText) -> KeyRingText) throws(KeyRingError) -> KeyRing {
        let changed = change(try self.text())
        // Never write a file that can't be read back.
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

/// An exclusive lock for changing a key file, because two concurrent changes would lose each other's keys. Released
/// with the last reference.
package struct KeyFileLock: ~Copyable {
    private let descriptor: CInt

    /// - Parameter path: the path of the key file. The lock is an empty file beside it, `<path>.lock`, which stays. Where
    ///   nothing can be written, nobody can replace the key file either, and it is its own lock.
    package init(for path: String) throws(KeyRingError) {
        var descriptor = unsafe Glibc.open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor < 0, errno == EROFS || errno == EACCES {
            descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        }
        guard descriptor >= 0 else {
            throw KeyRingError(
                .inaccessible,
                "\(SystemCallError(errno, "can't make \(path).lock").message): this lock file prevents two changes of the keys at once"
            )
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(descriptor)
            throw KeyRingError(.inaccessible, "another process is changing the keys in \(path) just now")
        }
        self.descriptor = descriptor
    }

    deinit {
        // Unlock explicitly, as in `OpenFile`: a process that is just being started may still have a copy of the
        // descriptor, which keeps the lock.
        _ = flock(self.descriptor, LOCK_UN)
        Glibc.close(self.descriptor)
    }
}
