/// The words that may stand somewhere in the file, as keys or as values.
protocol Vocabulary: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {
    /// Words of the documented configuration that this release doesn't know what to do with: an operator who uses one
    /// has made no mistake, and is told so.
    static var later: [String] { get }

    /// Whether a word that is not in here may itself be a secret, put where its name should be, and is not repeated.
    static var isSensitive: Bool { get }
}

extension Vocabulary {
    static var later: [String] { [] }
    static var isSensitive: Bool { false }

    /// What a slip of the pen may have meant.
    static var all: [String] { Self.allCases.map(\.rawValue) + Self.later }
}
