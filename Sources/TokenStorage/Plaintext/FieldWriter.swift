internal import CShims
package import TokenModel

/// Writes the fields of a record into bytes that are overwritten when the writer is released.
///
/// Integers are big-endian. Text and secrets have their length in four bytes before them. An optional value has a byte
/// before it that says whether it is present. ``FieldReader`` reads the fields in the same order.
package final class FieldWriter {
    private var bytes: [UInt8] = []

    /// Begins with the number of the layout of the fields.
    package init(format: UInt8) {
        self.bytes.reserveCapacity(4096)
        self.bytes.append(format)
    }

    deinit { self.bytes.wipe() }

    /// All bytes written so far.
    package func finish() -> Secret { Secret(self.bytes) }

    /// Writes an integer, in as many bytes as its type has.
    package func write(_ value: some FixedWidthInteger) {
        self.append(value.bigEndianBytes)
    }

    /// Writes a Boolean as one byte: 0 or 1.
    package func write(_ value: Bool) {
        self.write(value ? 1 : 0 as UInt8)
    }

    /// Writes the number of UTF-8 bytes, then the bytes.
    package func write(_ text: String) {
        self.write(UInt32(clamping: text.utf8.count))
        self.append(Array(text.utf8))
    }

    /// Writes the number of bytes, then the bytes.
    package func write(_ secret: Secret) {
        self.write(UInt32(clamping: secret.count))
        self.makeRoom(for: secret.count)
        secret.withUnredacted { span in
            for index in span.indices { self.bytes.append(span[index]) }
        }
    }

    /// Writes whole nanoseconds, clamped to the range of `Int64` (292 years).
    package func write(_ duration: Duration) {
        self.write(duration.clampedNanoseconds)
    }

    /// Writes whether there is a value. If there is one, `body` writes it.
    package func write<Value>(_ value: Value?, with body: (Value) -> Void) {
        self.write(value != nil)
        if let value { body(value) }
    }

    /// Writes the number of values. Then `body` writes each.
    package func write<Value>(_ values: [Value], with body: (Value) -> Void) {
        self.write(UInt32(clamping: values.count))
        for value in values { body(value) }
    }

    private func append(_ more: [UInt8]) {
        self.makeRoom(for: more.count)
        self.bytes += more
    }

    /// Grows the buffer explicitly, because an array that grows by itself leaves its old bytes in freed memory.
    private func makeRoom(for count: Int) {
        guard self.bytes.count + count > self.bytes.capacity else { return }
        var grown: [UInt8] = []
        grown.reserveCapacity(2 * (self.bytes.count + count))
        grown += self.bytes
        self.bytes.wipe()
        self.bytes = grown
    }
}
