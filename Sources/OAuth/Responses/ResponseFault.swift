internal import JSONText

/// Why a body can't be read.
enum ResponseFault: Error, Equatable {
    case malformed
    /// It ends in the middle.
    case incomplete
    /// Nested deeper than ``JSONScanner/deepest``.
    case tooDeep
    /// A member we would use stands there twice.
    case repeatedMember
}

extension ResponseFault {
    init(_ fault: JSONScanFault) {
        self =
            switch fault {
            case .malformed: .malformed
            case .incomplete: .incomplete
            case .tooDeep: .tooDeep
            }
    }

    /// Whether a member that comes twice leaves open what the answer says. Of any other the last counts: a grant must not
    /// be lost for a doubled `scope`.
    static func isDecisive(_ member: String) -> Bool {
        !["scope", "expires_in", "refresh_expires_in", "refresh_token_expires_in", "token_type"].contains(member)
    }
}
