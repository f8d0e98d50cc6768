package import TokenModel

/// Reads the fields of a record. The bytes are not trusted: whatever they are, the result is fields or an error, and it
/// takes no more memory than the bytes do.
package struct FieldReader {
    private let bytes: Secret
    private var position: Int = 0

    /// The number of the layout.
    package private(set) var format: UInt8 = 0

    /// - Throws: ``StoreError/Code/unreadable`` unless `bytes` begin with the number of a layout in `formats`.
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

    /// An integer, of as many bytes as its type has.
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

    /// A Boolean.
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

    /// Secret bytes. They are never copied into anything but a ``Secret``.
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

    /// What `body` reads, if the value is present.
    package mutating func readOptional<Value>(
        _ body: (inout FieldReader) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        try self.read(Bool.self) ? try body(&self) : nil
    }

    /// A list of values, each read by `body`.
    package mutating func readArray<Value>(
        _ body: (inout FieldReader) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        let count = Int(try self.read(UInt32.self))
        // Each element takes at least one byte, so a count greater than the rest of the bytes is wrong.
        guard count <= self.bytes.count - self.position else { throw Self.malformed("a list longer than the record") }
        var values: [Value] = []
        for _ in 0..<count { values.append(try body(&self)) }
        return values
    }

    /// Skips the next `count` bytes.
    ///
    /// - Returns: where they begin.
    private mutating func advance(by count: Int) throws(StoreError) -> Int {
        guard count <= self.bytes.count - self.position else { throw Self.malformed("fewer bytes than it says") }
        defer { self.position += count }
        return self.position
    }

    /// The error for a field whose value is not allowed.
    package static func malformed(_ found: String) -> StoreError {
        StoreError(.unreadable, "the record is malformed: it has \(found)")
    }
}
