/// An error response as RFC 6749 defines it.
struct ErrorReply: Decodable {
    let error: String
}
