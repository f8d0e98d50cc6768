internal import CShims
package import TokenModel

/// Puts the fields of a record one after another into bytes that are overwritten when nobody needs them any more.
///
/// Integers are big-endian; text and secrets carry their length (four bytes) before them; what may be missing has a
/// byte that says whether it is there. ``FieldReader`` reads the fields back in the same order.
package final class FieldWriter {
    private var bytes: [UInt8] = []

    /// Begins with the number of the layout that follows.
    package init(format: UInt8) {
        self.bytes.reserveCapacity(4096)
        self.bytes.append(format)
    }

    deinit { self.bytes.wipe() }

    /// What has been written so far.
    package func finish() -> Secret { Secret(self.bytes) }

    /// As many bytes as its type has, whatever the value.
    package func write(_ value: some FixedWidthInteger) {
        self.append(value.bigEndianBytes)
    }

    /// One byte: 0 or 1.
    package func write(_ value: Bool) {
        self.write(value ? 1 : 0 as UInt8)
    }

    /// Its UTF-8 bytes behind their number.
    package func write(_ text: String) {
        self.write(UInt32(clamping: text.utf8.count))
        self.append(Array(text.utf8))
    }

    /// Its bytes behind their number.
    package func write(_ secret: Secret) {
        self.write(UInt32(clamping: secret.count))
        self.makeRoom(for: secret.count)
        secret.withUnredacted { span in
            for index in span.indices { self.bytes.append(span[index]) }
        }
    }

    /// Held to what an `Int64` of nanoseconds can carry (292 years).
    package func write(_ duration: Duration) {
        self.write(duration.clampedNanoseconds)
    }

    /// Whether there is a value, then `body` writes it.
    package func write<Value>(_ value: Value?, with body: (Value) -> Void) {
        self.write(value != nil)
        if let value { body(value) }
    }

    /// How many there are, then `body` writes each.
    package func write<Value>(_ values: [Value], with body: (Value) -> Void) {
        self.write(UInt32(clamping: values.count))
        for value in values { body(value) }
    }

    private func append(_ more: [UInt8]) {
        self.makeRoom(for: more.count)
        self.bytes += more
    }

    /// Grows by hand, because an array that grows by itself leaves its old bytes behind in freed memory.
    private func makeRoom(for count: Int) {
        guard self.bytes.count + count > self.bytes.capacity else { return }
        var grown: [UInt8] = []
        grown.reserveCapacity(2 * (self.bytes.count + count))
        grown += self.bytes
        self.bytes.wipe()
        self.bytes = grown
    }
}
