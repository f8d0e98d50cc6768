/// Why a body can't be read.
enum AnswerFault: Error, Equatable {
    case malformed
    /// It ends in the middle.
    case incomplete
    /// Nested deeper than ``JSONScanner/deepest``.
    case tooDeep
    /// A member we would use stands there twice.
    case repeatedMember
}
