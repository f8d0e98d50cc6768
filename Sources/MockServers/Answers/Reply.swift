/// What goes back over the connection.
enum Reply: Sendable {
    case whole(Answer)

    /// The head and half of the body, then the connection closes.
    case half(Answer)

    /// The connection closes without a byte.
    case nothing
}
