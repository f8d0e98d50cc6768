internal import Glibc

/// A failed system call on a file. Two errors are equal when their numbers are equal.
package struct SystemCallError: Error, Sendable {
    /// The `errno` of the call that failed.
    package let number: Int32
    /// What failed, on which path, and the system's text for the error.
    package let message: String

    /// - Parameter attempt: what failed, such as `can't open /path`.
    package init(_ number: Int32, _ attempt: String) {
        self.number = number
        self.message = "\(attempt): \(Self.text(of: number))"
    }

    /// Whether the file or directory does not exist.
    package var isMissing: Bool { self.number == ENOENT }

    /// The system's text for an `errno`.
    package static func text(of number: Int32) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }
}

extension SystemCallError: CustomStringConvertible {
    package var description: String { self.message }
}

extension SystemCallError: Equatable {
    package static func == (left: SystemCallError, right: SystemCallError) -> Bool { left.number == right.number }
}
