import HTTPWire
import TextCoding
import TokenModel

extension [Field] {
    /// The values of all fields with that name, in order.
    ///
    /// - Parameter name: in lower case.
    func values(of name: StaticString, in bytes: Span<UInt8>) -> [ByteRange] {
        var values: [ByteRange] = []
        for field in self where bytes.matches(field.name, name) { values.append(field.value) }
        return values
    }

    /// The value of the only field with that name; `nil` if there is none, or more than one.
    func onlyValue(of name: StaticString, in bytes: Span<UInt8>) -> ByteRange? {
        var value: ByteRange?
        for field in self where bytes.matches(field.name, name) {
            guard value == nil else { return nil }
            value = field.value
        }
        return value
    }
}

extension Span<UInt8> {
    /// The bytes of `range`.
    func copy(_ range: ByteRange) -> [UInt8] {
        // The buffer is read during the call only.
        unsafe self.extracting(range.lower..<range.upper).withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// The HTTP date that `range` holds; `nil` if it holds anything else.
    func date(_ range: ByteRange) -> WallTime? { HTTPDate.read(self.extracting(range.lower..<range.upper)) }

    /// Whether the bytes of `range` are `other`, in the same case.
    func holds(_ other: [UInt8], at range: ByteRange) -> Bool {
        guard range.count == other.count else { return false }
        for index in other.indices where self[range.lower + index] != other[index] { return false }
        return true
    }
}
