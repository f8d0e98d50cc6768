/// An error in the words of RFC 6749.
struct ErrorReply: Decodable {
    let error: String
}
