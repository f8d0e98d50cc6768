package import Glibc
internal import TokenModel

/// A file of keys (``KeyRingText``), made at first start where that is asked for.
package struct KeyRingFile: KeyRingSource {
    private let path: String
    private let isMadeWhenMissing: Bool

    /// - Parameter isMadeWhenMissing: `false` where several machines share a store: each would make a key of its own.
    package init(path: String, isMadeWhenMissing: Bool) {
        self.path = path
        self.isMadeWhenMissing = isMadeWhenMissing
    }

    package var name: String { self.path }

    package func existing() throws(KeyRingError) -> KeyRing? {
        let text: Secret
        do {
            let file = try FileDescriptor(opening: self.path, O_RDONLY | O_NONBLOCK)
            let mode = try file.mode()
            guard mode & S_IFMT == S_IFREG else {
                throw KeyRingError(.inaccessible, "\(self.path) is not a file of sealing keys: it is no regular file")
            }
            try self.checkExposure(mode)
            text = try file.read(limit: Self.sizeLimit + 1)
        } catch let error as FileError {
            guard !error.isMissing else { return nil }
            throw KeyRingError(.inaccessible, "\(error.message): the sealing keys must be readable by this user")
        } catch let error as KeyRingError {
            throw error
        } catch {
            throw KeyRingError(.inaccessible, "can't read \(self.path)")
        }
        guard text.count <= Self.sizeLimit else {
            throw KeyRingError(
                .malformed,
                "\(self.path) is no list of sealing keys: it is over \(Self.sizeLimit) bytes"
            )
        }
        return try KeyRingText(text, name: self.path).parsed()
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

    /// Refuses keys that others may read, where this user could have prevented it. What only root can change (a mounted
    /// secret) has whatever mode it was mounted with.
    private func checkExposure(_ mode: mode_t) throws(KeyRingError) {
        let isWritable = unsafe faccessat(AT_FDCWD, self.path, W_OK, AT_EACCESS) == 0
        guard Self.isExposed(mode: mode, isWritableByUs: isWritable) else { return }
        throw KeyRingError(
            .exposed,
            "\(self.path) can be read or written by others (mode \(String(mode & 0o777, radix: 8))), and it holds the "
                + "sealing keys: chmod 600 \(self.path)"
        )
    }

    /// Whether a file of this mode, owned by whomever, gives keys away that its user should have kept.
    package static func isExposed(mode: mode_t, isWritableByUs: Bool) -> Bool {
        isWritableByUs && mode & 0o066 != 0
    }

    private static let sizeLimit = 65_536
}
