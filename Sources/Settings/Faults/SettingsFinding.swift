/// One thing to say about a configuration file: a fault that keeps the gateway from starting, or a warning.
package struct SettingsFinding: Equatable, Sendable {
    /// The file as the operator named it.
    package let file: String
    /// `nil` where the file as a whole is meant.
    package let position: SourcePosition?
    /// The keys that lead there, such as `routes[0].upstream`; empty for the whole document.
    package let path: String
    /// What is wrong and what would help; never the content of a secret.
    package let message: String

    package init(file: String, position: SourcePosition?, path: String, message: String) {
        self.file = file
        self.position = position
        self.path = path
        self.message = message
    }

    /// The order of the file.
    static func precedes(_ left: SettingsFinding, _ right: SettingsFinding) -> Bool {
        let first = left.position ?? .start
        let second = right.position ?? .start
        return (first, left.path, left.message) < (second, right.path, right.message)
    }
}

extension SettingsFinding: CustomStringConvertible {
    /// One line, `martlet.yaml:12:5: routes[0].upsteam: unknown key`. Characters that would break the line or hide a
    /// part of it are shown as escapes: keys come from the file, and a terminal would obey them.
    package var description: String {
        var place = self.file
        if let position = self.position {
            place += ":\(position.line):\(position.column)"
        }
        return [place, self.path, self.message].filter { !$0.isEmpty }.joined(separator: ": ").escapingUnprintables
    }
}

extension String {
    /// The text with control, format and line-breaking characters as `\u{…}`.
    var escapingUnprintables: String {
        var result = ""
        for scalar in self.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
