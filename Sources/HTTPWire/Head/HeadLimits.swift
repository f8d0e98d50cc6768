/// How large a head may be, in bytes and fields.
package struct HeadLimits: Equatable, Sendable {
    /// The whole head with its final empty line.
    package var head: Int
    /// One field line with name, colon and value.
    package var field: Int
    /// Field lines in one head.
    package var fields: Int
    /// The request target. A request line may have 64 bytes more.
    package var target: Int

    /// All in bytes, but for `fields`.
    package init(head: Int, field: Int, fields: Int, target: Int) {
        self.head = head
        self.field = field
        self.fields = fields
        self.target = target
    }

    /// What callers may send unless the configuration says otherwise.
    package static let request = HeadLimits(head: 32 << 10, field: 16 << 10, fields: 200, target: 8 << 10)

    /// What is taken from an upstream.
    package static let response = HeadLimits(head: 64 << 10, field: 64 << 10, fields: 200, target: 0)
}
