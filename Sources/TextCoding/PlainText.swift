/// Makes text from other sources safe for a terminal, which would execute control sequences.
package enum PlainText {
    /// `text` as one line: control, format and line-breaking characters become `\u{…}`.
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
