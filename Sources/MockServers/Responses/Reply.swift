/// What goes back over the connection.
enum Reply: Sendable {
    case whole(MockResponse)

    /// The head and half of the body, then the connection closes.
    case half(MockResponse)

    /// The connection closes without a byte.
    case nothing
}
