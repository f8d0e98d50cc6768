/// A request as a reader other than the gateway has read it.
struct ReadRequest: Equatable, Sendable, CustomStringConvertible {
    enum Framing: Equatable, Sendable {
        case none, length(Int), chunked
        /// More than one framing field, or one that the gateway never writes.
        case odd
    }

    var method: String
    var target: String
    /// The value of `X-Serial`, which identifies the request among those that were sent.
    var serial: String
    var framing: Framing
    var body: [UInt8] = []

    /// One line of text, in the format that the readers in other languages print.
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
