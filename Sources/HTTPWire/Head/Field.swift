/// One field line of a head: where its parts stand, what it is, and whether it may go on.
package struct Field: Equatable, Sendable {
    /// What its name means here.
    package let known: KnownField
    /// It must not leave on the other side as it came: it belongs to this connection, or it is written anew there.
    package internal(set) var isStripped: Bool
    /// As it came, in its own case.
    package let name: ByteRange
    /// Without white space at both ends.
    package let value: ByteRange
    /// The whole line with its CRLF.
    package let line: ByteRange
}
