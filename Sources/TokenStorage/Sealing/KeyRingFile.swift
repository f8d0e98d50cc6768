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
