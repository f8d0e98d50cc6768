/// One field line of a head: where its parts stand, what it is, and whether it may go on.
package struct Field: Equatable, Sendable {
    package let known: KnownField
    /// It must not leave on the other side as it came: it belongs to this connection, or it is written anew there.
    package internal(set) var isStripped: Bool
    package let name: ByteRange
    /// Without white space at both ends.
    package let value: ByteRange
    /// The whole line with its CRLF.
    package let line: ByteRange
}
