/// The fields of a form or a query, each given at most once (RFC 6749 section 3.1).
package struct FormBody: Sendable {
    private let values: [String: String]

    /// Reads `a=1&b=2`. A field without a value counts as not given.
    ///
    /// Throws `invalid_request` on a broken escape or a repeated field.
    package init(_ text: some StringProtocol) throws(GrantRefusal) {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decodeForm(halves[0]),
                let value = PercentCoding.decodeForm(halves.count > 1 ? halves[1] : "")
            else {
                throw GrantRefusal(.invalidRequest, "the form has a broken percent escape")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw GrantRefusal(.invalidRequest, "the form repeats a field")
            }
        }
        self.values = values.filter { !$0.value.isEmpty }
    }

    /// The decoded value, or nil when the field is missing or empty.
    package subscript(name: String) -> String? { self.values[name] }

    /// The decoded value; throws `invalid_request` naming the field when it is missing or empty.
    package func require(_ name: String) throws(GrantRefusal) -> String {
        guard let value = self.values[name] else {
            throw GrantRefusal(.invalidRequest, "the form has no \(name)")
        }
        return value
    }
}
