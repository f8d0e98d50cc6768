/// Why the mock does not run. Two errors are equal when their codes are.
package struct MockServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is, for whoever turns it into an exit code.
    package enum Code: Sendable {
        /// Somebody else listens there.
        case addressInUse

        /// This machine has no such address, or the name is unknown.
        case addressUnavailable

        /// The system does not allow it, as with ports below 1024.
        case notAllowed

        /// The certificate or its key can't be read or do not fit.
        case badCertificate

        /// The system refused for another reason.
        case listenerFailed
    }

    package let code: Code

    /// What failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { self.message }

    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}
