/// Sent down the pipeline to close the socket without asking the handlers in between. TLS would first say goodbye and wait
/// for the peer to do so too.
struct HangUp: Sendable {}
