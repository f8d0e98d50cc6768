package import TokenModel

/// Takes the fields of a record apart again. The bytes are not trusted: whatever they hold, the answer is the fields or
/// an error, and no more memory than they have bytes.
package struct FieldReader {
    private let bytes: Secret
    private var position: Int = 0

    /// Which layout the bytes have.
    package private(set) var format: UInt8 = 0

    /// - Throws: ``StoreError/Code/unreadable`` unless `bytes` begin with one of the layouts `formats`.
    package init(_ bytes: Secret, formats: ClosedRange<UInt8>) throws(StoreError) {
        self.bytes = bytes
        let format: UInt8 = try self.read()
        guard formats.contains(format) else {
            throw StoreError(
                .unreadable,
                "the record has layout \(format), and this Martlet knows \(formats.lowerBound) to "
                    + "\(formats.upperBound): it was written by a newer one"
            )
        }
        self.format = format
    }

    /// - Throws: ``StoreError/Code/unreadable`` unless all bytes have been read.
    package func finish() throws(StoreError) {
        guard self.position == self.bytes.count else { throw Self.malformed("bytes behind its last field") }
    }

    /// An integer of as many bytes as its type has.
    package mutating func read<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws(StoreError) -> Value {
        let start = try self.advance(by: Value.bitWidth / 8)
        return self.bytes.withUnredacted { span in
            var value: Value = 0
            for offset in 0..<Value.bitWidth / 8 {
                value = value << 8 | Value(truncatingIfNeeded: span[start + offset])
            }
            return value
        }
    }

    /// A truth value.
    package mutating func read(_ type: Bool.Type = Bool.self) throws(StoreError) -> Bool {
        switch try self.read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw Self.malformed("a truth value that is neither")
        }
    }

    /// Text, which must be UTF-8.
    package mutating func read(_ type: String.Type = String.self) throws(StoreError) -> String {
        let count = Int(try self.read(UInt32.self))
        let start = try self.advance(by: count)
        let text = self.bytes.withUnredacted { span in
            String(validating: (start..<start + count).map { span[$0] }, as: UTF8.self)
        }
        guard let text else { throw Self.malformed("text that is not UTF-8") }
        return text
    }

    /// Bytes that never were anything else than secret.
    package mutating func read(_ type: Secret.Type = Secret.self) throws(StoreError) -> Secret {
        let count = Int(try self.read(UInt32.self))
        let start = try self.advance(by: count)
        return self.bytes.withUnredacted { span in
            unsafe span.extracting(start..<start + count).withUnsafeBytes { unsafe Secret($0) }
        }
    }

    /// A duration of whole nanoseconds.
    package mutating func read(_ type: Duration.Type = Duration.self) throws(StoreError) -> Duration {
        .nanoseconds(try self.read(Int64.self))
    }

    /// What `body` reads, if it is there.
    package mutating func readOptional<Value>(
        _ body: (inout FieldReader) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        try self.read(Bool.self) ? try body(&self) : nil
    }

    /// As many values as there are, each read by `body`.
    package mutating func readArray<Value>(
        _ body: (inout FieldReader) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        let count = Int(try self.read(UInt32.self))
        // Each element takes at least a byte, so a count beyond the bytes that are left is a lie.
        guard count <= self.bytes.count - self.position else { throw Self.malformed("a list longer than itself") }
        var values: [Value] = []
        for _ in 0..<count { values.append(try body(&self)) }
        return values
    }

    /// Steps over the next `count` bytes.
    ///
    /// - Returns: where they begin.
    private mutating func advance(by count: Int) throws(StoreError) -> Int {
        guard count <= self.bytes.count - self.position else { throw Self.malformed("fewer bytes than it says") }
        defer { self.position += count }
        return self.position
    }

    /// For readers of fields that only some values fit.
    package static func malformed(_ found: String) -> StoreError {
        StoreError(.unreadable, "the record is malformed: it has \(found)")
    }
}
