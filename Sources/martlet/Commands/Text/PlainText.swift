/// Text from elsewhere made fit for a terminal, which obeys what it is shown.
package enum PlainText {
    /// `text` in one line: control, format and line-breaking characters as `\u{…}`.
    package static func line(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}
