/// How a fault rule closes the connection on a client.
package enum FaultDrop: String, Sendable, Decodable {
    /// Nothing is processed, nothing is sent.
    case before

    /// Everything is processed, nothing is sent: the client can't know that it happened.
    case afterCommit = "after_commit"

    /// Everything is processed; the head and half of the body are sent.
    case midBody = "mid_body"
}
