internal import FoundationEssentials
package import TokenModel

/// Keys as text: one a line in base64, the one that seals first; empty lines and lines that begin with `#` say nothing.
package struct KeyRingText: Sendable {
    package let text: Secret
    /// How messages name it, such as a path.
    package let name: String

    package init(_ text: Secret, name: String) {
        self.text = text
        self.name = name
    }

    /// Text that holds one key.
    init(holding key: SealingKey, name: String) {
        var text = Array(Self.preamble.utf8)
        defer { text.wipe() }
        var encoded = key.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe Data(bytes).base64EncodedData() }
        }
        text.reserveCapacity(text.count + encoded.count + 1)
        text += encoded
        text.append(UInt8(ascii: "\n"))
        encoded.wipe()
        self.init(Secret(text), name: name)
    }

    /// - Throws: ``KeyRingError/Code/malformed``, naming the line.
    package func parsed() throws(KeyRingError) -> KeyRing {
        var keys: [SealingKey] = []
        for (number, line) in self.lines().enumerated() where !line.isEmpty {
            var decoded = line.withUnredacted { span in
                unsafe span.withUnsafeBytes { bytes in Data(base64Encoded: unsafe Data(bytes)) } ?? Data()
            }
            defer { decoded.wipe() }
            // Foundation decodes more than base64 of the right length.
            guard line.count == Self.encodedCount, let key = SealingKey(Secret(decoded)) else {
                throw KeyRingError(
                    .malformed,
                    "\(self.name), line \(number + 1): not a key; a key is \(SealingKey.byteCount) random bytes in base64 "
                        + "(make one with: openssl rand -base64 \(SealingKey.byteCount))"
                )
            }
            guard !keys.contains(key) else {
                throw KeyRingError(.malformed, "\(self.name), line \(number + 1): the same key as on a line before it")
            }
            keys.append(key)
        }
        guard let current = keys.first else {
            throw KeyRingError(.malformed, "\(self.name) holds no key")
        }
        return KeyRing(current: current, retired: Array(keys.dropFirst()))
    }

    /// How many characters the base64 of a key has.
    private static let encodedCount = (SealingKey.byteCount + 2) / 3 * 4

    private static let preamble = """
        # Sealing keys of a Martlet store: the first seals, all open. Who has them and the store has the tokens;
        # without them no stored token opens again. Keep a copy, apart from the store's backups.

        """

    /// The lines without space around them; comments are empty.
    private func lines() -> [Secret] {
        self.text.withUnredacted { span in
            var lines: [Secret] = []
            var start = 0
            for index in 0...span.count where index == span.count || span[index] == UInt8(ascii: "\n") {
                var (from, to) = (start, index)
                while from < to, span[from].isBlank { from += 1 }
                while from < to, span[to - 1].isBlank { to -= 1 }
                if from < to, span[from] == UInt8(ascii: "#") { to = from }
                lines.append(unsafe span.extracting(from..<to).withUnsafeBytes { unsafe Secret($0) })
                start = index + 1
            }
            return lines
        }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\r")
    }
}
