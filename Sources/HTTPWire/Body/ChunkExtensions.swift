/// Reads over a chunk's extensions (RFC 9112 §7.1.1). Nobody here knows any, but a malformed one is no extension: what
/// another reader makes of it can't be told.
///
///     ";" ─▶ name ─┬─"="─▶ value ──────────┐
///             ▲    │   └─▶ " … \" … " ─────┤
///             └────┴───────────";"─────────┴──CR──▶ (end)
///
/// Spaces and tabs may stand around `;` and `=`, and nowhere else: not before the first `;`, nor before the CR.
struct ChunkExtensions {
    private enum Place {
        /// Behind `;`, before the name.
        case semicolon
        case name
        case spaceBehindName
        /// Behind `=`, before the value.
        case equals
        case value
        case quoted
        /// Behind a backslash.
        case escaped
        case closingQuote
        case spaceBehindValue
    }

    private let limit: Int
    private var place = Place.semicolon

    /// - Parameter limit: what they may take from the first `;` on, in bytes.
    init(limit: Int) {
        self.limit = limit
    }

    /// Where the CR stands behind them, or `nil` while that has not come. Once only.
    ///
    /// - Parameter start: of the first `;`.
    mutating func end(in bytes: Span<UInt8>, from start: Int) throws(WireError) -> Int? {
        var position = start
        // At each byte, so that what is wrong first is told, whatever has come of the rest.
        while position < bytes.count {
            if position > start, bytes[position] == .carriageReturn, self.mayEnd { return position }
            guard position - start < self.limit else { throw WireError(.chunkExtensionsTooLarge) }
            if position > start {
                guard let place = self.place(behind: bytes[position]) else { throw WireError(.chunkExtension) }
                self.place = place
            }
            position += 1
        }
        return nil
    }

    private var mayEnd: Bool {
        switch self.place {
        case .name, .value, .closingQuote: true
        case .semicolon, .spaceBehindName, .equals, .quoted, .escaped, .spaceBehindValue: false
        }
    }

    private func place(behind byte: UInt8) -> Place? {
        let isSpace = byte == .space || byte == .tab
        return switch self.place {
        case .semicolon: isSpace ? .semicolon : byte.isToken ? .name : nil
        case .name where byte.isToken: .name
        case .name, .spaceBehindName:
            isSpace ? .spaceBehindName : byte == .equals ? .equals : byte == .semicolon ? .semicolon : nil
        case .equals: isSpace ? .equals : byte == .quote ? .quoted : byte.isToken ? .value : nil
        case .value where byte.isToken: .value
        case .value, .closingQuote, .spaceBehindValue:
            isSpace ? .spaceBehindValue : byte == .semicolon ? .semicolon : nil
        case .quoted where byte == .quote: .closingQuote
        case .quoted where byte == .backslash: .escaped
        case .quoted, .escaped: byte.isFieldValue ? .quoted : nil
        }
    }
}
