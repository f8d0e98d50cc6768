internal import TokenModel

/// One value of JSON text (RFC 8259). Strings are secrets until somebody knows that they are none.
enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// As it was written.
    case number(String)
    case string(Secret)
    case array([JSONValue])
    case object([JSONMember])
}

/// One name and its value.
struct JSONMember: Equatable, Sendable {
    let name: String
    let value: JSONValue
}
