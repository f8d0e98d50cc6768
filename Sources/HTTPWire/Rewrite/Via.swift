import NIOCore

/// The gateway's member of `Via` (RFC 9110 §7.6.3): the version that it has received, its name, and a comment by which
/// it knows a request that comes back to it.
package struct Via: Sendable {
    /// Whole lines, by the minor version that was received.
    private let lines: [[UInt8]]
    private let mark: [UInt8]

    /// - Parameter word: tells this gateway from others; letters and digits.
    package init(word: String) {
        self.mark = Array("martlet (\(word))".utf8)
        self.lines = (0...1).map { Array("Via: 1.\($0) martlet (\(word))\r\n".utf8) }
    }

    /// One with a word that nobody else has.
    package static func random() -> Via { Via(word: String(UInt64.random(in: .min ... .max), radix: 36)) }

    func line(for request: RequestHead) -> [UInt8] { self.lines[Int(request.minorVersion)] }

    /// Whether the request has passed this gateway before.
    package func marks(_ request: RequestHead) -> Bool {
        guard request.hasVia else { return false }
        let bytes = request.bytes.readableBytesUInt8Span
        return request.fields.contains { $0.known == .via && bytes.contains(self.mark, in: $0.value) }
    }
}

extension Span<UInt8> {
    fileprivate func contains(_ word: [UInt8], in range: ByteRange) -> Bool {
        guard range.count >= word.count else { return false }
        return (range.lower...range.upper - word.count).contains { start in
            word.indices.allSatisfy { self[start + $0] == word[$0] }
        }
    }
}
