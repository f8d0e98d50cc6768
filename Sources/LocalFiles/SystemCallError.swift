internal import Glibc

/// What the operating system refused to do with a file. Equal when its numbers are equal.
package struct SystemCallError: Error, Sendable {
    /// The `errno` of the call that failed.
    package let number: Int32
    /// What failed, on which path, in the system's words.
    package let message: String

    /// - Parameter attempt: what failed, such as `can't open /path`.
    package init(_ number: Int32, _ attempt: String) {
        self.number = number
        self.message = "\(attempt): \(Self.text(of: number))"
    }

    /// There is no such file or directory.
    package var isMissing: Bool { self.number == ENOENT }

    /// The system's words for an `errno`.
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
