internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials
internal import TokenModel

/// A store's keys, sealed under a passphrase: the text of a key file, encrypted with AES-256-GCM under the key that scrypt
/// (RFC 7914) derives from the passphrase.
///
/// It is one line of words: the format, `scrypt`, N, r, p, the salt, then nonce, ciphertext and tag, the last two in
/// base64. All words before the last are authenticated too.
struct PassphraseEnvelope: Sendable {
    /// The shortest new passphrase, in Unicode scalars.
    static let shortest = 12

    private static let format = "martlet-envelope-1"
    private static let saltCount = 16

    private let costs: ScryptCosts
    private let salt: Data
    /// Nonce, ciphertext and tag.
    private let sealed: Data

    /// The envelope as the contents of its file.
    var text: Secret { Secret("\(self.header) \(self.sealed.base64EncodedString())\n") }

    private var header: String {
        "\(Self.format) scrypt \(self.costs.rounds) \(self.costs.blockSize) \(self.costs.parallelism) "
            + self.salt.base64EncodedString()
    }

    /// Reads an envelope from a file.
    ///
    /// - Throws: ``KeyRingError/Code/malformed``, also for costs that are out of bounds.
    init(parsing bytes: [UInt8], name: String) throws(KeyRingError) {
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count == 7, words[0] == Self.format, words[1] == "scrypt", let rounds = Int(words[2]),
            let blockSize = Int(words[3]), let parallelism = Int(words[4]), let salt = Data(base64Encoded: words[5]),
            salt.count == Self.saltCount, let sealed = Data(base64Encoded: words[6])
        else {
            throw KeyRingError(
                .malformed,
                "\(name) is no envelope of sealing keys that this version knows; put it back from its copy"
            )
        }
        let costs = ScryptCosts(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
        guard costs.areAcceptable else {
            throw KeyRingError(
                .malformed,
                "\(name) names costs of scrypt that are out of bounds (\(rounds), \(blockSize), \(parallelism)); put it back "
                    + "from its copy"
            )
        }
        (self.costs, self.salt, self.sealed) = (costs, salt, sealed)
    }

    /// Seals keys under a new passphrase. Takes as long as a guess.
    ///
    /// - Throws: ``KeyRingError/Code/passphraseUnfit``.
    init(sealing keys: KeyRingText, under passphrase: Secret, costs: ScryptCosts = .standard) throws(KeyRingError) {
        if let objection = Self.objection(to: passphrase) { throw KeyRingError(.passphraseUnfit, objection) }
        var generator = SystemRandomNumberGenerator()
        self.costs = costs
        self.salt = Data((0..<Self.saltCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        // The header is that of the parts so far.
        let unsealed = PassphraseEnvelope(costs: costs, salt: self.salt)
        let key = try unsealed.key(under: passphrase)
        do {
            let box = try keys.text.withUnredacted { span in
                try unsafe span.withUnsafeBytes { bytes in
                    try unsafe AES.GCM.seal(bytes, using: key, authenticating: Array(unsealed.header.utf8))
                }
            }
            self.sealed = Data(box.nonce) + box.ciphertext + box.tag
        } catch {
            throw KeyRingError(.inaccessible, "the keys can't be sealed under the passphrase")
        }
    }

    /// Why a passphrase can't be a new one; `nil` if it can. What an unlock can't bring would open nothing.
    private static func objection(to passphrase: Secret) -> String? {
        guard passphrase.count <= PassphraseKeyOrigin.longestPassphrase else {
            return
                "the passphrase has more than \(PassphraseKeyOrigin.longestPassphrase) bytes, and an unlock takes no more"
        }
        return passphrase.withUnredacted { span in
            guard (try? UTF8Span(validating: span)) != nil else {
                return "the passphrase is not text in UTF-8, so no unlock could bring it"
            }
            guard !span.indices.contains(where: { [UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(span[$0]) }) else {
                return "the passphrase has a line break, which nobody can type"
            }
            // Bytes that continue a character are none of their own.
            guard span.indices.count(where: { span[$0] & 0xC0 != 0x80 }) >= Self.shortest else {
                return
                    "the passphrase has fewer than \(Self.shortest) characters; whoever gets a copy of the store and of the "
                    + "envelope can try as many as they like"
            }
            return nil
        }
    }

    private init(costs: ScryptCosts, salt: Data) { (self.costs, self.salt, self.sealed) = (costs, salt, Data()) }

    /// The keys in the envelope. Takes as long as a guess.
    ///
    /// - Parameter name: of the envelope, for messages.
    /// - Throws: ``KeyRingError/Code/passphraseWrong``, also if the envelope was changed.
    func open(with passphrase: Secret, name: String) throws(KeyRingError) -> KeyRingText {
        let key = try self.key(under: passphrase)
        do {
            let box = try AES.GCM.SealedBox(combined: self.sealed)
            var opened = try AES.GCM.open(box, using: key, authenticating: Array(self.header.utf8))
            defer { opened.wipe() }
            return KeyRingText(Secret(opened), name: name)
        } catch {
            throw KeyRingError(.passphraseWrong, "wrong passphrase: it does not open \(name)")
        }
    }

    private func key(under passphrase: Secret) throws(KeyRingError) -> SymmetricKey {
        // The derivation traps on an empty one.
        guard !passphrase.isEmpty else { throw KeyRingError(.passphraseWrong, "the passphrase is empty") }
        var bytes = passphrase.withUnredacted { span in unsafe span.withUnsafeBytes { unsafe Array($0) } }
        defer { bytes.wipe() }
        do {
            return try KDF.Scrypt.deriveKey(
                from: bytes,
                salt: self.salt,
                outputByteCount: 32,
                rounds: self.costs.rounds,
                blockSize: self.costs.blockSize,
                parallelism: self.costs.parallelism
            )
        } catch {
            let memory = (128 * self.costs.rounds * self.costs.blockSize) >> 20
            throw KeyRingError(.inaccessible, "the passphrase can't be tried: that takes \(memory) MiB of memory")
        }
    }
}

/// The costs of a guess at a passphrase: the parameters of scrypt.
package struct ScryptCosts: Equatable, Sendable {
    /// N, a power of two.
    let rounds: Int
    /// r.
    let blockSize: Int
    /// p.
    let parallelism: Int

    package init(rounds: Int, blockSize: Int, parallelism: Int) {
        self.rounds = rounds
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// 128 MiB of memory and about half a second.
    package static let standard = ScryptCosts(rounds: 1 << 17, blockSize: 8, parallelism: 1)

    /// Whether an envelope may name them. They are not secret, and must not make this process ask for more memory
    /// than 256 MiB, or calculate for more than some seconds.
    var areAcceptable: Bool {
        (1 << 10...1 << 20).contains(self.rounds) && self.rounds & (self.rounds - 1) == 0
            && (1...16).contains(self.blockSize) && (1...4).contains(self.parallelism)
            && 128 * self.rounds * self.blockSize <= 256 << 20
    }
}
