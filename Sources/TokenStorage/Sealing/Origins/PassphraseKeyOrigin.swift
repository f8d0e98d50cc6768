internal import Glibc
internal import SystemSupport
package import TokenModel

/// Keys in an envelope that a person's passphrase opens.
package struct PassphraseKeyOrigin: SealingKeyOrigin {
    private let envelope: EnvelopeFile
    private let isMadeWhenMissing: Bool

    package let name: String
    package var need: KeyNeed { .passphrase }

    /// - Parameters:
    ///   - path: of the envelope.
    ///   - isMadeWhenMissing: makes an envelope with a new key if a new store is opened. `false` if several hosts share a
    ///     store, because each would make its own key.
    ///   - costs: of a guess, for an envelope that is made; the others name their own.
    package init(path: String, isMadeWhenMissing: Bool, costs: ScryptCosts = .standard) {
        self.name = path
        self.envelope = EnvelopeFile(path: path, costs: costs)
        self.isMadeWhenMissing = isMadeWhenMissing
    }

    /// The name of the envelope in `state_dir`.
    package static let fileName = "sealing.envelope"

    /// The maximum length of a passphrase in bytes.
    package static let longestPassphrase = 1_024

    /// The path at which an envelope with other keys leaves the one before it.
    package var formerName: String { EnvelopeFile.former(self.name) }

    package func keys(passphrase: Secret?) async throws(KeyRingError) -> any KeyRingSource {
        guard let passphrase else {
            throw KeyRingError(.passphraseNeeded, "the keys in \(self.name) need a passphrase")
        }
        if let keys = try await self.envelope.open(with: passphrase) { return try GivenKeyRing(keys) }
        guard self.isMadeWhenMissing else { throw EnvelopeFile.missing(self.name) }
        return try await self.envelope.draft(under: passphrase)
    }

    /// Seals keys under another passphrase, and other keys if they are given. Then the envelope before is kept
    /// (``formerName``).
    ///
    /// - Parameters:
    ///   - passphrase: the present one; `nil` makes a new envelope and refuses to replace one.
    ///   - keys: the text of a key file; `nil` keeps those in the envelope, or draws a new key.
    package func change(
        _ passphrase: Secret?,
        to new: Secret,
        keys: Secret? = nil
    ) async throws(KeyRingError) {
        try await self.envelope.change(passphrase, to: new, keys: keys.map { KeyRingText($0, name: "the key file") })
    }

    /// Writes the keys in the envelope to a key file, which must not exist.
    package func export(_ passphrase: Secret, to path: String) async throws(KeyRingError) {
        guard let keys = try await self.envelope.open(with: passphrase) else { throw EnvelopeFile.missing(self.name) }
        do throws(SystemCallError) {
            guard try WholeFile.create(at: path, holding: keys.text) else {
                throw SystemCallError(EEXIST, "can't make \(path)")
            }
        } catch {
            throw KeyRingError(.inaccessible, error.message)
        }
    }

    /// Whether there is an envelope.
    package var exists: Bool {
        get async throws(KeyRingError) { try await self.envelope.read() != nil }
    }
}

/// The file of an envelope. One passphrase is tried at a time, and on a thread of its own, because that takes long and
/// much memory.
private actor EnvelopeFile {
    private let executor = BlockingExecutor(label: "martlet.envelope")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe self.executor.asUnownedSerialExecutor() }

    private let path: String
    private let costs: ScryptCosts

    init(path: String, costs: ScryptCosts) {
        self.path = path
        self.costs = costs
    }

    /// - Returns: `nil` if there is none.
    func read() throws(KeyRingError) -> PassphraseEnvelope? {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try SecretFile.contents(of: self.path, mayBelongToOthers: false)
        } catch {
            switch error.code {
            case .missing: return nil
            case .exposed: throw KeyRingError(.exposed, "\(self.path) \(error.message): it holds the sealing keys")
            case .tooLarge, .empty: throw KeyRingError(.malformed, "\(self.path) \(error.message)")
            case .unreadable: throw KeyRingError(.inaccessible, "\(self.path) \(error.message)")
            }
        }
        return try PassphraseEnvelope(parsing: bytes, name: self.path)
    }

    func open(with passphrase: Secret) throws(KeyRingError) -> KeyRingText? {
        try self.read()?.open(with: passphrase, name: self.path)
    }

    /// An envelope with a new key, which becomes a file if a store needs it.
    func draft(under passphrase: Secret) throws(KeyRingError) -> DraftedEnvelope {
        let keys = KeyRingText(holding: .random(), name: self.path)
        let envelope = try PassphraseEnvelope(sealing: keys, under: passphrase, costs: self.costs)
        return DraftedEnvelope(ring: try keys.parsed(), text: envelope.text, name: self.path)
    }

    func change(_ passphrase: Secret?, to new: Secret, keys: KeyRingText?) throws(KeyRingError) {
        // Never write keys that can't be read back.
        _ = try keys?.parsed()
        guard let passphrase else {
            let keys = keys ?? KeyRingText(holding: .random(), name: self.path)
            let text = try PassphraseEnvelope(sealing: keys, under: new, costs: self.costs).text
            return try DraftedEnvelope(ring: try keys.parsed(), text: text, name: self.path).write()
        }
        guard let former = try self.read() else { throw Self.missing(self.path) }
        let kept = try former.open(with: passphrase, name: self.path)
        let text = try PassphraseEnvelope(sealing: keys ?? kept, under: new, costs: self.costs).text
        do throws(SystemCallError) {
            if keys != nil { try WholeFile.replace(at: Self.former(self.path), with: former.text) }
            try WholeFile.replace(at: self.path, with: text)
        } catch {
            throw KeyRingError(.inaccessible, error.message)
        }
    }

    static func former(_ path: String) -> String { "\(path).old" }

    static func missing(_ path: String) -> KeyRingError {
        KeyRingError(
            .missing,
            "there is no envelope of sealing keys at \(path): put it back from its copy, or copy it from another replica; for "
                + "a new store make one with: martlet store passphrase"
        )
    }
}

/// The keys of an envelope that is not a file before the store is known to be new.
private struct DraftedEnvelope: KeyRingSource {
    let ring: KeyRing
    let text: Secret
    let name: String

    func existing() throws(KeyRingError) -> KeyRing? {
        guard let bytes = try? SecretFile.contents(of: self.name, mayBelongToOthers: false) else { return nil }
        return Secret(bytes) == self.text ? self.ring : nil
    }

    func make() throws(KeyRingError) -> KeyRing {
        try self.write()
        return self.ring
    }

    func write() throws(KeyRingError) {
        let isMade: Bool
        do throws(SystemCallError) { isMade = try WholeFile.create(at: self.name, holding: self.text) } catch {
            throw KeyRingError(.inaccessible, "\(error.message): the envelope of the sealing keys is made there")
        }
        guard isMade else {
            throw KeyRingError(.inaccessible, "\(self.name) was made by somebody else just now: give its passphrase")
        }
    }
}
