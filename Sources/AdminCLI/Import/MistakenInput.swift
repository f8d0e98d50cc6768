internal import FoundationEssentials

/// Recognizes input that people pipe in by mistake instead of tokens.
///
/// An import replaces the existing tokens. Input wrongly accepted as a refresh token would cost a working grant.
enum MistakenInput {
    /// What is wrong with `text`, which is trimmed, not empty and not a JSON object; `nil` if it may be a refresh
    /// token.
    ///
    /// The message repeats no part of the text.
    static func reason(of text: String) -> String? {
        if let reason = Self.reasonOfJSON(text) { return reason }
        if Self.absences.contains(text.lowercased()) {
            return "the input is the word that stands for nothing: what was asked for is not in the provider's answer"
        }
        if text.hasPrefix("<") {
            return "the input looks like a web page; \(Self.wanted)"
        }
        if Self.isCallerKey(text) {
            return "the input looks like a key of martlet callers new, which lets a caller in and refreshes nothing"
        }
        if Self.isURL(text) {
            return "the input looks like a URL; martlet login NAME --paste takes the address of a sign-in"
        }
        if Self.isForm(text) {
            return "the input looks like a form (name=value&…); import the JSON of the token answer, or the refresh "
                + "token alone"
        }
        return nil
    }

    private static let absences: Set<String> = ["null", "undefined", "none", "nil"]

    private static func reasonOfJSON(_ text: String) -> String? {
        if text.hasPrefix("\"") {
            return "the input looks like a JSON string with its quotes; use jq -r to print the token alone"
        }
        if text.hasPrefix("[") {
            return
                "the input looks like a JSON list; import one token answer, which is an object, such as with jq '.[0]'"
        }
        guard let number = text.utf8.first, number == UInt8(ascii: "-") || (0x30...0x39).contains(number),
            (try? JSONDecoder().decode(Double.self, from: Data(text.utf8))) != nil
        else {
            return ["true", "false"].contains(text) ? "the input looks like a JSON value; \(Self.wanted)" : nil
        }
        return "the input looks like a JSON number; \(Self.wanted)"
    }

    private static let wanted =
        "import the whole token answer, or a refresh token alone (as {\"refresh_token\":…} if it is really this)"

    /// The form of keys from ``CallerKey``.
    private static func isCallerKey(_ text: String) -> Bool {
        let begin = "martlet_"
        let rest = text.utf8.dropFirst(begin.utf8.count)
        return text.hasPrefix(begin) && rest.count == 43
            && rest.allSatisfy { Self.isLetter($0) || (0x30...0x39).contains($0) }
    }

    /// A scheme (RFC 3986 §3.1) and `://`.
    private static func isURL(_ text: String) -> Bool {
        guard let end = text.firstRange(of: "://"), let first = text.utf8.first, Self.isLetter(first) else {
            return false
        }
        return text[..<end.lowerBound].utf8.allSatisfy {
            Self.isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
                || $0 == UInt8(ascii: ".")
        }
    }

    /// A single field counts only if its name occurs in token responses and requests: a token may end in `=`.
    private static func isForm(_ text: String) -> Bool {
        let fields = text.split(separator: "&", omittingEmptySubsequences: false)
        let names = fields.map { field in field.prefix { $0 != "=" } }
        let isEach = zip(fields, names).allSatisfy { field, name in
            !name.isEmpty && name.utf8.count < field.utf8.count
                && name.utf8.allSatisfy { Self.isLetter($0) || $0 == UInt8(ascii: "_") }
        }
        return isEach && (fields.count > 1 || names.contains { Self.fieldNames.contains(String($0)) })
    }

    private static let fieldNames: Set<String> = [
        "access_token", "code", "error", "grant_type", "id_token", "refresh_token", "token",
    ]

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
}
