/// The ways in which the same bytes may arrive: whole, byte by byte, and in two pieces at every split.
func arrivals(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
    [[bytes[...]], bytes.indices.map { bytes[$0...$0] }]
        + bytes.indices.dropFirst().map { [bytes[..<$0], bytes[$0...]] }
}

/// The result of parsing bytes, in values that are easy to compare and print.
enum Reading<Summary: Equatable & Sendable>: Equatable, Sendable {
    case whole(Summary)
    case refused(Refusal)
    /// The parser needs more bytes.
    case unfinished
}

extension Reading {
    var summary: Summary? {
        if case .whole(let summary) = self { summary } else { nil }
    }
}
