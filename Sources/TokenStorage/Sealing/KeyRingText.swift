internal import FoundationEssentials
package import TokenModel

/// Keys as text: one base64 key per line, the key that seals first. Empty lines and lines that begin with `#` are
/// ignored.
package struct KeyRingText: Sendable {
    package let text: Secret
    /// The name of the text in messages, such as a path.
    package let name: String

    package init(_ text: Secret, name: String) {
        self.text = text
        self.name = name
    }

    /// A text with one key.
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

    /// - Throws: ``KeyRingError/Code/malformed``, with the number of the line.
    package func parsed() throws(KeyRingError) -> KeyRing {
        var keys: [SealingKey] = []
        for (number, line) in self.lines().enumerated() where !line.isEmpty {
            guard let key = Self.key(line) else {
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

    /// This text with `key` before the first key. All else stays in place.
    func adding(_ key: SealingKey) -> KeyRingText {
        let lines = self.lines()
        let first = lines.firstIndex { !$0.isEmpty } ?? lines.endIndex
        return self.rebuilt { number, line in
            number == first ? [Self.encoded(key), line] : [line]
        }
    }

    /// This text without the lines of `keys`. The line of the first key stays in any case.
    func dropping(_ keys: Set<SealingKey.ID>) -> KeyRingText {
        let lines = self.lines()
        let first = lines.firstIndex { !$0.isEmpty }
        return self.rebuilt { number, line in
            guard number != first, number < lines.count, let key = Self.key(lines[number]), keys.contains(key.id) else {
                return [line]
            }
            return []
        }
    }

    /// The text with each line replaced by the lines that `change` returns.
    private func rebuilt(_ change: (Int, Secret) -> [Secret]) -> KeyRingText {
        let raw = self.rawLines()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.text.count + 2 * Self.encodedCount + 2)
        defer { bytes.wipe() }
        for (number, line) in raw.enumerated() {
            // The empty rest after the last line break is not a line.
            if number == raw.count - 1, line.isEmpty, number > 0 { break }
            for line in change(number, line) {
                line.withUnredacted { span in
                    for index in span.indices { bytes.append(span[index]) }
                }
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return KeyRingText(Secret(bytes), name: self.name)
    }

    private static func encoded(_ key: SealingKey) -> Secret {
        var encoded = key.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe Data(bytes).base64EncodedData() }
        }
        defer { encoded.wipe() }
        return Secret(encoded)
    }

    private static func key(_ line: Secret) -> SealingKey? {
        var decoded = line.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in Data(base64Encoded: unsafe Data(bytes)) } ?? Data()
        }
        defer { decoded.wipe() }
        // Foundation also decodes texts that are not base64 of the right length.
        return line.count == Self.encodedCount ? SealingKey(Secret(decoded)) : nil
    }

    /// The number of characters in the base64 of a key.
    private static let encodedCount = (SealingKey.byteCount + 2) / 3 * 4

    private static let preamble = """
        # Sealing keys of a Martlet store: the first seals, all open. Who has them and the store has the tokens;
        # without them no stored token opens again. Keep a copy, apart from the store's backups.

        """

    /// The lines without leading and trailing space. Comments become empty lines.
    private func lines() -> [Secret] {
        self.split { span, from, to in
            var (from, to) = (from, to)
            while from < to, span[from].isBlank { from += 1 }
            while from < to, span[to - 1].isBlank { to -= 1 }
            if from < to, span[from] == UInt8(ascii: "#") { to = from }
            return from..<to
        }
    }

    /// The unchanged lines.
    private func rawLines() -> [Secret] {
        self.split { _, from, to in from..<to }
    }

    private func split(_ range: (Span<UInt8>, Int, Int) -> Range<Int>) -> [Secret] {
        self.text.withUnredacted { span in
            var lines: [Secret] = []
            var start = 0
            for index in 0...span.count where index == span.count || span[index] == UInt8(ascii: "\n") {
                let line = range(span, start, index)
                lines.append(unsafe span.extracting(line).withUnsafeBytes { unsafe Secret($0) })
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
