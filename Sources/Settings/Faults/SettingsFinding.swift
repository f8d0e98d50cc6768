internal import TextCoding

/// A finding about a configuration file: a fault that prevents a start, or a warning.
package struct SettingsFinding: Equatable, Sendable {
    /// The file as the operator named it.
    package let file: String
    /// `nil` if the finding concerns the file as a whole.
    package let position: SourcePosition?
    /// The path of keys, such as `routes[0].upstream`; empty for the whole document.
    package let path: String
    /// What is wrong and what helps; never the content of a secret.
    package let message: String

    package init(file: String, position: SourcePosition?, path: String, message: String) {
        self.file = file
        self.position = position
        self.path = path
        self.message = message
    }

    /// Orders findings by their position in the file.
    static func precedes(_ left: SettingsFinding, _ right: SettingsFinding) -> Bool {
        let first = left.position ?? .start
        let second = right.position ?? .start
        return (first, left.path, left.message) < (second, right.path, right.message)
    }
}

extension SettingsFinding: CustomStringConvertible {
    /// One line, `martlet.yaml:12:5: routes[0].upsteam: unknown key`. Characters that would break the line or hide a
    /// part of it are shown as escapes, because keys come from the file and a terminal would execute control sequences.
    package var description: String {
        var place = self.file
        if let position = self.position {
            place += ":\(position.line):\(position.column)"
        }
        return PlainText.line([place, self.path, self.message].filter { !$0.isEmpty }.joined(separator: ": "))
    }
}

/// A position in a text. Lines and columns count from 1; a column is one Unicode scalar.
package struct SourcePosition: Hashable, Comparable, Sendable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// The first character of a text.
    package static let start = SourcePosition(line: 1, column: 1)

    package static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// Why a configuration was rejected. Two errors are equal if their codes are equal. The program ends with exit code 78.
package struct SettingsError: Error, Sendable {
    package enum Code: String, Sendable {
        /// The file could not be read.
        case unreadable
        /// The file was read and has faults.
        case invalid
    }

    package let code: Code
    /// All faults, in the order of the file; at least one.
    package let faults: [SettingsFinding]

    init(_ code: Code, _ faults: [SettingsFinding]) {
        self.code = code
        self.faults = faults.sorted(by: SettingsFinding.precedes)
    }
}

extension SettingsError: Equatable {
    package static func == (left: SettingsError, right: SettingsError) -> Bool { left.code == right.code }
}

extension SettingsError: CustomStringConvertible {
    /// The faults, one per line.
    package var description: String { self.faults.map(\.description).joined(separator: "\n") }
}
