/// How long an upstream may take.
package struct RouteTimeouts: Equatable, Sendable {
    /// For a connection to stand, and for a place in the pool's queue.
    package let connect: Duration
    /// From the request's end to the answer's head.
    package let response: Duration
    /// Between two reads or writes of a body.
    package let idle: Duration
}
