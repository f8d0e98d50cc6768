/// Reads field lines (RFC 9112 §5), strictly: no folding, no space before the colon, CRLF only.
struct FieldSection {
    let limits: HeadLimits
    /// Refuse `_` in names: many upstreams turn it into `-`, and so read a field that was not checked here.
    let refusesUnderscores: Bool

    /// The fields from `start` up to the empty line, which must end at `end`.
    ///
    /// - Parameter fields: none yet.
    func read(_ bytes: Span<UInt8>, from start: Int, to end: Int, into fields: inout [Field]) throws(WireError) {
        var position = start
        // Within `end` every line has its CRLF: the scanner has seen to it.
        while bytes[position] != .carriageReturn {
            let field = try self.readLine(bytes, from: position, to: end)
            guard field.line.count <= self.limits.field + 2 else {
                throw WireError(.headTooLarge, "a field is too large")
            }
            guard fields.count < self.limits.fields else { throw WireError(.headTooLarge, "too many fields") }
            fields.append(field)
            position = field.line.upper
        }
        guard position + 2 == end, bytes[position + 1] == .lineFeed else { throw .bad("a bare CR in a field") }
    }

    private func readLine(_ bytes: Span<UInt8>, from start: Int, to end: Int) throws(WireError) -> Field {
        var position = start
        while bytes[position].isToken {
            if self.refusesUnderscores, bytes[position] == .underscore { throw .bad("a field name with an underscore") }
            position += 1
        }
        guard bytes[position] == .colon else {
            throw position == start && (bytes[start] == .space || bytes[start] == .tab)
                ? .bad("a folded or indented field") : .bad("a field name is not a token followed by a colon")
        }
        guard position > start else { throw .bad("an empty field name") }
        let name = ByteRange(start, position)
        position += 1

        let valueStart = position
        position = bytes.endOfVisibleWords(from: position)
        while bytes[position].isFieldValue { position += 1 }
        guard bytes[position] == .carriageReturn, bytes[position + 1] == .lineFeed else {
            throw .bad("a control character in a field value")
        }
        let known = KnownField(name, in: bytes)
        return Field(
            known: known,
            isStripped: known.isHopByHop,
            name: name,
            value: bytes.trimmed(ByteRange(valueStart, position)),
            line: ByteRange(start, position + 2)
        )
    }
}
