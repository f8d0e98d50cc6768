internal import Glibc
internal import LocalFiles
internal import TokenModel

/// A file of keys (``KeyRingText``), made at first start where that is asked for.
package struct KeyRingFile: KeyRingSource {
    private let path: String
    private let isMadeWhenMissing: Bool
    private let stateDirectory: String?

    /// - Parameters:
    ///   - isMadeWhenMissing: `false` where several machines share a store: each would make a key of its own.
    ///   - stateDirectory: a file that is named elsewhere may be another user's, who mounts it; `nil`: none may.
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

    /// What the file holds.
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
            // Whether this call made the file or lost a race: what counts is what stands there now.
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

/// Tells whether a source of keys was changed, without reading a key.
package struct KeyRingRevision: Equatable, Sendable {
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    /// Of the file at `path`; `nil` where there is none.
    init?(ofFile path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.seconds = Int64(status.st_mtim.tv_sec)
        self.nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}

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

/// Why there is no key ring to be had. Equal when the codes are equal.
package struct KeyRingError: Error, Sendable {
    package enum Code: String, Sendable {
        /// Others than the gateway could read or replace the keys.
        case exposed
        /// What is there is not a list of keys.
        case malformed
        /// There are no keys, and none can be made here.
        case missing
        /// The operating system refuses.
        case inaccessible
    }

    package let code: Code
    /// For the operator: what failed, on which path, what would help. Nothing of a key.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension KeyRingError: CustomStringConvertible {
    package var description: String { "\(self.code.rawValue): \(self.message)" }
}

extension KeyRingError: Equatable {
    package static func == (left: KeyRingError, right: KeyRingError) -> Bool { left.code == right.code }
}

/// Where a store's keys come from.
package protocol KeyRingSource: Sendable {
    /// The keys that are there; `nil` where none have been made yet.
    func existing() throws(KeyRingError) -> KeyRing?

    /// Makes the first key, for a store that holds nothing yet; of several processes all get the same.
    ///
    /// - Throws: ``KeyRingError/Code/missing`` where keys must be given.
    func make() throws(KeyRingError) -> KeyRing

    /// How messages name it, such as a path.
    var name: String { get }

    /// Changes with what ``existing()`` gives; `nil` where that never changes, or there is nothing.
    var revision: KeyRingRevision? { get }
}

extension KeyRingSource {
    package var revision: KeyRingRevision? { nil }
}
