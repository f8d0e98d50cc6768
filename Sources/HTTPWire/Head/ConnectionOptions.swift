/// What the `Connection` fields of a head say (RFC 9110 §7.6.1).
struct ConnectionOptions {
    /// How many options a head may have. Each is looked for among all fields; honest heads have two or three.
    static let limit = 64

    private(set) var close = false
    private(set) var keepAlive = false
    private(set) var upgrade = false

    /// Reads the options of all `Connection` fields, and marks the fields they name as stripped.
    ///
    /// - Throws: ``WireError/Code/badRequest`` when one names a field that must not go away, and when they are too many.
    init(_ fields: inout [Field], in bytes: Span<UInt8>, isRequest: Bool) throws(WireError) {
        var count = 0
        for index in fields.indices where fields[index].known == .connection {
            var members = ListMembers(of: fields[index].value)
            while let option = members.next(in: bytes) {
                count += 1
                guard count <= Self.limit else { throw WireError(.tooManyConnectionOptions) }
                if bytes.matches(option, "close") {
                    self.close = true
                } else if bytes.matches(option, "keep-alive") {
                    self.keepAlive = true
                } else if bytes.matches(option, "upgrade") {
                    // The field it names never passes as it came.
                    self.upgrade = true
                } else {
                    try Self.strip(option, from: &fields, in: bytes, isRequest: isRequest)
                }
            }
        }
    }

    private static func strip(
        _ option: ByteRange,
        from fields: inout [Field],
        in bytes: Span<UInt8>,
        isRequest: Bool
    ) throws(WireError) {
        for position in option.lower..<option.upper where !bytes[position].isToken {
            throw WireError(.connectionOption)
        }
        let known = KnownField(option, in: bytes)
        // Some servers name it in every answer. It never passes as it came, and is read before this: no harm is in it.
        if known == .transferEncoding, !isRequest { return }
        guard !known.isProtected else { throw WireError(.connectionNamesProtected) }
        for index in fields.indices where bytes.equal(fields[index].name, option) {
            fields[index].isStripped = true
        }
    }
}

extension Span<UInt8> {
    /// Whether two ranges hold the same bytes without regard to case.
    func equal(_ left: ByteRange, _ right: ByteRange) -> Bool {
        guard left.count == right.count else { return false }
        for offset in 0..<left.count
        where self[left.lower + offset].lowercased != self[right.lower + offset].lowercased {
            return false
        }
        return true
    }
}
