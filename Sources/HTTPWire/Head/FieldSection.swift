/// Reads field lines (RFC 9112 §5), strictly: no folding, no space before the colon, CRLF only.
struct FieldSection {
    let limits: HeadLimits
    /// Refuse names that an upstream may take for a field of the gateway's, since it reads `_` as `-`: such a field would
    /// not have been checked, or removed.
    let refusesLookalikes: Bool

    /// The fields from `start` up to the empty line, which must end at `end`.
    ///
    /// - Parameter fields: none yet.
    func read(_ bytes: Span<UInt8>, from start: Int, to end: Int, into fields: inout [Field]) throws(WireError) {
        var position = start
        // Within `end` every line has its CRLF: the scanner has seen to it.
        while bytes[position] != .carriageReturn {
            let field = try self.readLine(bytes, from: position, to: end)
            guard field.line.count <= self.limits.field + 2 else {
                throw WireError(.fieldTooLarge)
            }
            guard fields.count < self.limits.fields else { throw WireError(.tooManyFields) }
            fields.append(field)
            position = field.line.upper
        }
        guard position + 2 == end, bytes[position + 1] == .lineFeed else { throw WireError(.fieldValue) }
    }

    private func readLine(_ bytes: Span<UInt8>, from start: Int, to end: Int) throws(WireError) -> Field {
        var position = start
        var hasUnderscore = false
        while bytes[position].isToken {
            if bytes[position] == .underscore { hasUnderscore = true }
            position += 1
        }
        guard bytes[position] == .colon else {
            throw position == start && (bytes[start] == .space || bytes[start] == .tab)
                ? WireError(.foldedField) : WireError(.fieldName)
        }
        guard position > start else { throw WireError(.fieldName) }
        let name = ByteRange(start, position)
        position += 1

        let valueStart = position
        position = bytes.endOfVisibleWords(from: position)
        while bytes[position].isFieldValue { position += 1 }
        guard bytes[position] == .carriageReturn, bytes[position + 1] == .lineFeed else {
            throw WireError(.fieldValue)
        }
        var known = KnownField(name, in: bytes)
        if hasUnderscore {
            if self.refusesLookalikes, KnownField(hyphenated: name, in: bytes).isRequestMatter {
                throw .bad("a field name whose _ an upstream may read as -, and so as a field of the gateway's")
            }
            if known == .other { known = .underscored }
        }
        return Field(
            known: known,
            isStripped: known.isHopByHop,
            name: name,
            value: bytes.trimmed(ByteRange(valueStart, position)),
            line: ByteRange(start, position + 2)
        )
    }
}
