/// How the answer of a provider comes back. The raw values are those of `way` in the admin API.
package enum SignInWay: String, Sendable, CaseIterable {
    /// To a port that the command listens on, on the operator's machine (RFC 8252 §7.3).
    case loopback
    /// By hand: the operator pastes the address that the browser was sent to.
    case paste
    /// To the gateway's own listener for sign-ins.
    case gateway
    /// Not at all: the gateway asks for it (RFC 8628).
    case device
}
