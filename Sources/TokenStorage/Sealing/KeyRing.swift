internal import Crypto
internal import FoundationEssentials
package import TokenModel

/// The keys of a store. The first key seals records; a record is opened with the key that it names.
///
/// To change keys, put the new key first, reseal all records, then drop the old key.
package struct KeyRing: Equatable, Sendable {
    /// The key that seals, and also opens.
    package let current: SealingKey
    /// Keys that only open.
    package let retired: [SealingKey]

    /// - Parameter retired: keys that records may still be sealed under.
    package init(current: SealingKey, retired: [SealingKey] = []) {
        self.current = current
        self.retired = retired
    }

    /// The same keys, with the one of that id as the one that seals; unchanged if the ring has no such key.
    func sealing(under id: SealingKey.ID?) -> KeyRing {
        guard let key = self.retired.first(where: { $0.id == id }) else { return self }
        return KeyRing(current: key, retired: [self.current] + self.retired.filter { $0.id != id })
    }

    /// Encrypts `plaintext` with AES-256-GCM, for one key and version of one store.
    ///
    /// - Throws: ``StoreError/Code/invalid`` if the result is larger than ``SealedBytes/maximumCount``.
    package func seal(_ plaintext: Secret, for context: SealingContext) throws(StoreError) -> SealedBytes {
        guard plaintext.count <= SealedBytes.maximumCount - SealedBytes.overhead else {
            throw StoreError(
                .invalid,
                "the record at \(context.key) has \(plaintext.count) bytes; at most "
                    + "\(SealedBytes.maximumCount - SealedBytes.overhead) can be sealed and stored"
            )
        }
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<SealedBytes.Layout.saltCount / 8).flatMap { _ in generator.next().bigEndianBytes }
        let nonce = AES.GCM.Nonce()
        do {
            let box = try plaintext.withUnredacted { span in
                try unsafe span.withUnsafeBytes { bytes in
                    try unsafe AES.GCM.seal(
                        bytes,
                        using: self.current.recordKey(salt: salt),
                        nonce: nonce,
                        authenticating: context.associatedData
                    )
                }
            }
            return SealedBytes(
                SealedBytes.Layout(
                    keyID: self.current.id,
                    salt: salt,
                    nonce: Array(nonce),
                    ciphertext: Array(box.ciphertext),
                    tag: Array(box.tag)
                )
            )
        } catch {
            throw StoreError(.invalid, "the record at \(context.key) can't be sealed")
        }
    }

    /// Decrypts what was sealed for the same context under a key of the ring.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for anything else. The message gives the reason and contains nothing of
    ///   the record.
    package func open(_ sealed: SealedBytes, for context: SealingContext) throws(StoreError) -> Secret {
        let layout = try sealed.layout()
        guard let key = self.key(layout.keyID) else {
            let known = ([self.current] + self.retired).map(\.id.description).joined(separator: ", ")
            throw StoreError(
                .unreadable,
                "the record at \(context.key) is sealed with key \(layout.keyID), and the key ring holds \(known)"
            )
        }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: layout.nonce),
                ciphertext: layout.ciphertext,
                tag: layout.tag
            )
            var opened = try AES.GCM.open(
                box,
                using: key.recordKey(salt: layout.salt),
                authenticating: context.associatedData
            )
            let plaintext = Secret(opened)
            opened.wipe()
            return plaintext
        } catch {
            throw StoreError(
                .unreadable,
                "the record at \(context.key) does not open as version \(context.version) of this store: "
                    + "it was damaged, moved from elsewhere, or put back from an older version"
            )
        }
    }

    /// Whether resealing `sealed` changes its key.
    package func sealsAnew(_ sealed: SealedBytes) -> Bool {
        (try? sealed.layout().keyID) != self.current.id
    }

    private func key(_ id: SealingKey.ID) -> SealingKey? {
        self.current.id == id ? self.current : self.retired.first { $0.id == id }
    }
}
