/// A message as llhttp read it.
struct ReadMessage: Equatable, Sendable {
    /// `GET /x HTTP/1.1` or `HTTP/1.1 200`.
    var start: String
    /// `name: value`, in order.
    var fields: [String]
    var body: [UInt8] = []
    var trailers: [String] = []
    /// llhttp has read the end of the message.
    var isWhole = false

    /// The values of the fields called `name`; case does not matter.
    func values(of name: String) -> [String] {
        let prefix = name.lowercased() + ": "
        return self.fields.filter { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}
