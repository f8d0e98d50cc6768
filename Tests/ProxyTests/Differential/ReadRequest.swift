/// A request as a reader that is not the gateway's has read it.
struct ReadRequest: Equatable, Sendable, CustomStringConvertible {
    enum Framing: Equatable, Sendable {
        case none, length(Int), chunked
        /// By more than one field, or by one that is no framing of ours.
        case odd
    }

    var method: String
    var target: String
    /// What `X-Serial` says: which of the requests that were sent it is.
    var serial: String
    var framing: Framing
    var body: [UInt8] = []

    /// One line of text, in which readers in other languages tell what they read.
    var description: String {
        let framing =
            switch self.framing {
            case .none: "none"
            case .length(let length): "length=\(length)"
            case .chunked: "chunked"
            case .odd: "odd"
            }
        return "\(self.method) \(self.target) \(self.serial) \(framing) \(Hexadecimal.text(self.body[...]))"
    }
}

extension ReadRequest.Framing {
    init(lengths: [String], codings: [String]) {
        switch (lengths.count, codings.count) {
        case (0, 0): self = .none
        case (1, 0): self = Int(lengths[0]).map { .length($0) } ?? .odd
        case (0, 1): self = codings[0] == "chunked" ? .chunked : .odd
        default: self = .odd
        }
    }
}

enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
