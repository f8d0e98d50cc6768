/// The field that carries the token to the upstream.
package struct InjectionSettings: Equatable, Sendable {
    /// A field name, as written.
    package let header: String
    /// What stands before the token, with the space if there is to be one.
    package let prefix: String
}
