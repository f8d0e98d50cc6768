import NIOCore

extension ResponseHead {
    /// The body is `application/json`, whatever its parameters, and not compressed.
    package var isPlainJSON: Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        var types = 0
        var isJSON = false
        for field in self.fields {
            switch field.known {
            case .contentType:
                types += 1
                var end = field.value.lower
                while end < field.value.upper, bytes[end] != .semicolon { end += 1 }
                isJSON = bytes.matches(bytes.trimmed(ByteRange(field.value.lower, end)), "application/json")
            case .contentEncoding:
                guard bytes.matches(field.value, "identity") else { return false }
            default: break
            }
        }
        return types == 1 && isJSON
    }
}
