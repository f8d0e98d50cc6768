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
        let values = self.values(of: name, in: bytes)
        return values.count == 1 ? values[0] : nil
    }
}

extension Span<UInt8> {
    /// The bytes of `range`.
    func copy(_ range: ByteRange) -> [UInt8] {
        (range.lower..<range.upper).map { self[$0] }
    }

    /// The HTTP date that `range` holds; `nil` if it holds anything else.
    func date(_ range: ByteRange) -> WallTime? {
        // The longest format has fewer characters.
        guard range.count <= 40 else { return nil }
        return HTTPDate.read(String(decoding: self.copy(range), as: UTF8.self))
    }

    /// Whether the bytes of `range` are `other`, in the same case.
    func holds(_ other: [UInt8], at range: ByteRange) -> Bool {
        guard range.count == other.count else { return false }
        for index in other.indices where self[range.lower + index] != other[index] { return false }
        return true
    }
}
