internal import HTTPTypes

/// One header field with its name as it is on the wire.
package struct HeaderField: Equatable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether HTTP can carry it (RFC 9110 section 5).
    package var isValid: Bool { HTTPField.Name(self.name) != nil && HTTPField.isValidValue(self.value) }

    /// Whether this is the field `name`, in any case.
    package func isNamed(_ name: String) -> Bool { self.name.lowercased() == name.lowercased() }
}
