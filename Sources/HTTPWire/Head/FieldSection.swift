package import NIOCore

/// Reads field lines (RFC 9112 §5), strictly: no folding, no space before the colon, CRLF only.
struct FieldSection {
    let limits: HeadLimits
    /// Whether to refuse names that an upstream may take for a field of the gateway's, since it reads `_` as `-`: such
    /// a field would not have been checked, or removed.
    let refusesLookalikes: Bool

    /// Reads the fields from `start` up to the empty line, which must end at `end`.
    ///
    /// - Parameter fields: empty before the call.
    func read(_ bytes: Span<UInt8>, from start: Int, to end: Int, into fields: inout [Field]) throws(WireError) {
        var position = start
        // Every line before `end` has its CRLF: the scanner has checked that.
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

/// What the `Connection` fields of a head say (RFC 9110 §7.6.1).
struct ConnectionOptions {
    /// How many options a head may have. Each is compared with all fields; honest heads have two or three.
    static let limit = 64

    private(set) var close = false
    private(set) var keepAlive = false
    private(set) var upgrade = false

    /// Reads the options of all `Connection` fields, and marks the fields they name as stripped.
    ///
    /// - Throws: ``WireError/Code/badRequest`` if an option names a protected field, or if there are too many.
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
                    // The field of that name never passes as it came.
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
        // Some servers name it in every response. That does no harm: the field never passes as it came, and is read in
        // any case.
        if known == .transferEncoding, !isRequest { return }
        guard !known.isProtected else { throw WireError(.connectionNamesProtected) }
        for index in fields.indices where bytes.equal(fields[index].name, option) {
            fields[index].isStripped = true
        }
    }
}

extension Span<UInt8> {
    /// Whether two ranges hold the same bytes, ignoring case.
    func equal(_ left: ByteRange, _ right: ByteRange) -> Bool {
        guard left.count == right.count else { return false }
        for offset in 0..<left.count
        where self[left.lower + offset].lowercased != self[right.lower + offset].lowercased {
            return false
        }
        return true
    }
}

/// The non-empty members of a comma-separated list (RFC 9110 §5.6.1), trimmed, one after the other.
struct ListMembers {
    private var start: Int
    private let end: Int

    init(of range: ByteRange) {
        self.start = range.lower
        self.end = range.upper
    }

    /// The next member, or `nil` after the last.
    mutating func next(in bytes: Span<UInt8>) -> ByteRange? {
        while self.start < self.end {
            var position = self.start
            while position < self.end, bytes[position] != .comma { position += 1 }
            let member = bytes.trimmed(ByteRange(self.start, position))
            self.start = position + 1
            if !member.isEmpty { return member }
        }
        return nil
    }
}

/// One field line of a head: where its parts stand, what it is, and whether it may be forwarded.
package struct Field: Equatable, Sendable {
    /// What its name means to the gateway.
    package let known: KnownField
    /// Whether the field must not be forwarded as it came: it belongs to this connection, or it is written anew.
    package internal(set) var isStripped: Bool
    /// As it came, in its own case.
    package let name: ByteRange
    /// Without white space at both ends.
    package let value: ByteRange
    /// The whole line with its CRLF.
    package let line: ByteRange
}

/// The field lines behind the last chunk (RFC 9112 §7.1.2), checked for their syntax.
package struct Trailers: Equatable, Sendable {
    /// The lines with the final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// In order, and not checked for their meaning: the code that forwards them leaves out those that may not pass.
    package let fields: [Field]

    init(bytes: ByteBuffer, fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }
}
