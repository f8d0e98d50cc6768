import NIOCore

/// A valid request generated from a seed, and what a reader must find in it at the upstream.
struct GeneratedRequest: Sendable {
    let serial: Int
    let method: String
    /// The target as it must arrive at the upstream.
    let target: String
    let body: [UInt8]
    let framing: ReadRequest.Framing
    /// The upstream refuses the request's token the first time, so the request arrives twice.
    let isReplayed: Bool
    /// The bytes that the caller sends.
    let bytes: [UInt8]

    var read: ReadRequest {
        ReadRequest(
            method: self.method,
            target: self.target,
            serial: "\(self.serial)",
            framing: self.framing,
            body: self.body
        )
    }
}

/// Generates requests from a seed.
struct RequestGenerator {
    private var numbers: SeededGenerator
    private var serial = 0

    init(seed: UInt64) {
        self.numbers = SeededGenerator(seed)
    }

    private static let methods = [
        "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "x-custom", "M-SEARCH",
    ]
    private static let segments = [
        "a", "b.json", "%2F", "%41%5c", "..a", "...", ";x=../y", "~", "a:b@c", "%C3%A9", "*", "{}", "x%2520",
    ]
    private static let queries = ["", "", "?", "?x=y&x", "??/../%00", "?a=\\\"<>|"]
    private static let lines = [
        "Accept: */*", "accept:b", "X: \u{80}\u{FF}\t\"", "X:", "Cookie: a=b", "X: 1\t ", "Via: 1.0 b", "Upgrade: h2c",
        "Connection: X-Gone, keep-alive", "x-gone: Content-Length: 3", "Keep-Alive: timeout=5", "TE: trailers",
        "Proxy-Connection: close", "X-Forwarded-For: b", "Authorization: Bearer stolen", "Martlet-Account: bob",
        "X-Content-Length: 7", "Transfer-Encodings: chunked", "Trailer: X", "Content-Type: message/http",
        "HTTP2-Settings: AAMA", "Forwarded: for=b", "client_id: 7", "X-Original-URL: /b",
    ]
    /// Pieces of a body that a faulty parser may take for protocol elements.
    private static let words = [
        "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "0\r\n\r\n", "\r\n", "5\r\nhello\r\n", "\0", "\u{FF}", "\n\n",
        "Content-Length: 3\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]

    /// The requests that one caller sends at once, on one connection.
    mutating func pipeline() -> [GeneratedRequest] {
        let count = Int.random(in: 1...8, using: &self.numbers)
        return (1...count).map { self.next(isLast: $0 == count) }
    }

    private mutating func next(isLast: Bool) -> GeneratedRequest {
        self.serial += 1
        let method = Self.methods.randomElement(using: &self.numbers) ?? "GET"
        let path = (0..<Int.random(in: 0...4, using: &self.numbers)).map { _ in
            Self.segments.randomElement(using: &self.numbers) ?? ""
        }.joined(separator: "/")
        let target = path + (Self.queries.randomElement(using: &self.numbers) ?? "")
        // The gateway replays a request after a refused token only if it has kept the body.
        let isReplayed = Int.random(in: 0..<5, using: &self.numbers) == 0
        let body = self.body(isLarge: !isReplayed && Int.random(in: 0..<12, using: &self.numbers) == 0)
        let kind = Int.random(in: 0...2, using: &self.numbers)
        let isOld = isLast && kind != 2 && Int.random(in: 0..<8, using: &self.numbers) == 0

        var text = "\(method) \(self.form(of: target)) HTTP/1.\(isOld ? 0 : 1)\r\nX-Serial: \(self.serial)\r\n"
        if isReplayed { text += "X-Refuse: once\r\n" }
        for line in Self.lines where Int.random(in: 0..<5, using: &self.numbers) == 0 { text += line + "\r\n" }
        text += "Host: a\r\n"
        if isLast, Bool.random(using: &self.numbers) { text += "Connection: close\r\n" }
        if kind != 0, !isOld, Int.random(in: 0..<6, using: &self.numbers) == 0 { text += "Expect: 100-continue\r\n" }
        var wire: [UInt8]
        let framing: ReadRequest.Framing
        switch kind {
        case 0:
            wire = Self.bytes(text + "\r\n")
            framing = .none
        case 1:
            wire = Self.bytes(text + "Content-Length: 00\(body.count)\r\n\r\n") + body
            framing = .length(body.count)
        default:
            wire = Self.bytes(text + "transfer-encoding: Chunked\r\n\r\n") + self.chunks(of: body)
            framing = .chunked
        }
        // One empty line before a request is tolerated.
        if Int.random(in: 0..<8, using: &self.numbers) == 0 { wire = [0x0D, 0x0A] + wire }
        return GeneratedRequest(
            serial: self.serial,
            method: method,
            target: "/v2/" + target,
            body: kind == 0 ? [] : body,
            framing: framing,
            isReplayed: isReplayed,
            bytes: wire
        )
    }

    /// The same target in one of its equivalent spellings.
    private mutating func form(of target: String) -> String {
        switch Int.random(in: 0..<6, using: &self.numbers) {
        case 0: "http://a/acme/" + target
        case 1: "/%61cme/" + target
        default: "/acme/" + target
        }
    }

    private mutating func body(isLarge: Bool) -> [UInt8] {
        if isLarge { return Array(repeating: 0x0A, count: Int.random(in: 66_000...90_000, using: &self.numbers)) }
        return (0..<Int.random(in: 0...6, using: &self.numbers)).flatMap { _ -> [UInt8] in
            Bool.random(using: &self.numbers)
                ? Self.bytes(Self.words.randomElement(using: &self.numbers) ?? "")
                : (0..<Int.random(in: 1...300, using: &self.numbers)).map { _ in
                    UInt8.random(in: 0...255, using: &self.numbers)
                }
        }
    }

    private mutating func chunks(of body: [UInt8]) -> [UInt8] {
        var rest = body[...]
        var wire: [UInt8] = []
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...max(1, rest.count), using: &self.numbers))
            rest = rest.dropFirst(piece.count)
            let size = String(piece.count, radix: 16, uppercase: Bool.random(using: &self.numbers))
            wire += Self.bytes((Bool.random(using: &self.numbers) ? "0" : "") + size)
            if Int.random(in: 0..<4, using: &self.numbers) == 0 { wire += Self.bytes(";a=\"b;c\"") }
            wire += [0x0D, 0x0A]
            wire += piece
            wire += [0x0D, 0x0A]
        }
        let hasTrailers = Int.random(in: 0..<4, using: &self.numbers) == 0
        return wire + Self.bytes(hasTrailers ? "0\r\nX-Sum: 1\r\nContent-Length: 3\r\nHost: evil\r\n\r\n" : "0\r\n\r\n")
    }

    private static func bytes(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}
