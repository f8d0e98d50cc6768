/// Why a file could not be taken. Equal when the codes are equal.
package struct FileError: Error, Sendable {
    /// Kinds of failure.
    package enum Code: String, Sendable {
        case missing
        /// Not allowed, or not a file that can be read to its end.
        case unreadable
        /// Larger than such a file can sensibly be.
        case tooLarge
        /// A secret that others on this machine could read or replace.
        case exposed
        /// A secret of no bytes.
        case empty
    }

    package let code: Code
    /// Follows the file's path: what is wrong and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension FileError: Equatable {
    package static func == (left: FileError, right: FileError) -> Bool { left.code == right.code }
}
