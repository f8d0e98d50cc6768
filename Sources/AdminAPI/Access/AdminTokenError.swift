/// Why the file of admin tokens could not be taken. Equal when the codes are equal.
package struct AdminTokenError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// It can't be made or read.
        case inaccessible
        /// Others can read or write it, and this user could have prevented that.
        case exposed
        /// It holds no token, or a line that is none.
        case malformed
        /// It holds a token that is too short to withstand whoever tries tokens out.
        case guessable
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AdminTokenError: Equatable {
    package static func == (left: AdminTokenError, right: AdminTokenError) -> Bool { left.code == right.code }
}
