internal import TextCoding

/// The fields of a form or a query, each given at most once (RFC 6749 section 3.1).
package struct FormBody: Sendable {
    private let values: [String: String]

    /// Reads `a=1&b=2`. A field without a value counts as missing.
    ///
    /// Throws `invalid_request` for a broken escape or a repeated field.
    package init(_ text: some StringProtocol) throws(GrantRefusal) {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]),
                let value = Self.decode(halves.count > 1 ? halves[1] : "")
            else {
                throw GrantRefusal(.invalidRequest, "the form has a broken percent escape")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw GrantRefusal(.invalidRequest, "the form repeats a field")
            }
        }
        self.values = values.filter { !$0.value.isEmpty }
    }

    /// The decoded value, or nil if the field is missing or empty.
    package subscript(name: String) -> String? { self.values[name] }

    /// The decoded value. Throws `invalid_request` with the field's name if the field is missing or empty.
    package func require(_ name: String) throws(GrantRefusal) -> String {
        guard let value = self.values[name] else {
            throw GrantRefusal(.invalidRequest, "the form has no \(name)")
        }
        return value
    }

    /// The text of an escaped name or value. Returns nil if an escape is broken or the bytes are not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        let bytes = Array(text.utf8)
        return PercentCoding.decode(bytes.span, isForm: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
