import HTTPWire
import NIOCore

extension Property {
    /// The parser gives the same result however the bytes arrive. It accepts only what RFC 9112 allows, within the
    /// limits, and accepts the bytes of an accepted head again.
    package static let requestHead = Property("RequestHead") { input in
        let readings = arrivals(of: input).map { RequestReading($0) }
        for reading in readings {
            try require(reading == readings[0], "another reading when cut otherwise: \(reading), \(readings[0])")
        }
        guard case .taken(let head, _) = readings[0] else { return }
        try head.checkSyntax()
        try head.checkMeaning()
        let again = RequestReading([Array(head.bytes.readableBytesView)[...]])
        try require(again == .taken(head, rest: []), "its own bytes are read otherwise: \(again)")
    }
}

/// The parser's result for some bytes.
enum RequestReading: Equatable, CustomStringConvertible {
    case taken(RequestHead, rest: [UInt8])
    case refused(WireError.Code)
    case unfinished

    init(_ pieces: [ArraySlice<UInt8>], limits: HeadLimits = .request) {
        var parser = RequestHeadParser(limits: limits)
        var buffer = ByteBuffer()
        var head: RequestHead?
        for piece in pieces {
            buffer.writeBytes(piece)
            do throws(WireError) {
                if head == nil { head = try parser.next(&buffer) }
            } catch {
                self = .refused(error.code)
                return
            }
        }
        self = head.map { .taken($0, rest: Array(buffer.readableBytesView)) } ?? .unfinished
    }

    static func == (left: RequestReading, right: RequestReading) -> Bool {
        switch (left, right) {
        case (.taken(let left, let leftRest), .taken(let right, let rightRest)):
            left.bytes == right.bytes && left.method == right.method && left.methodName == right.methodName
                && left.target == right.target && left.minorVersion == right.minorVersion
                && left.fields == right.fields && left.body == right.body && left.host == right.host
                && left.keepsAlive == right.keepsAlive && left.expectsContinue == right.expectsContinue
                && leftRest == rightRest
        case (.refused(let left), .refused(let right)): left == right
        case (.unfinished, .unfinished): true
        default: false
        }
    }

    var description: String {
        switch self {
        case .taken(let head, let rest): "taken \(Array(head.bytes.readableBytesView).text), rest \(rest.text)"
        case .refused(let code): "refused \(code)"
        case .unfinished: "unfinished"
        }
    }
}

/// A field as bytes.
struct NamedValue: Equatable {
    let name: [UInt8]
    let value: [UInt8]
    let isStripped: Bool

    init(_ field: Field, in bytes: ByteBuffer) {
        self.name = bytes.bytes(field.name.lower, field.name.upper)
        self.value = bytes.bytes(field.value.lower, field.value.upper)
        self.isStripped = field.isStripped
    }

    private static let punctuation = Array("!#$%&'*+-.^_`|~".utf8)

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: Self.punctuation.contains(byte)
        }
    }

    func isCalled(_ name: String) -> Bool { self.name.lowercased == Array(name.utf8) }

    /// Checks that the name is a token, and that the value contains no control characters and no surrounding whitespace
    /// (RFC 9110 §5).
    func checkSyntax() throws {
        try require(!self.name.isEmpty && self.name.allSatisfy(Self.isToken), "no token: \(self.name.text)")
        try require(
            self.value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 },
            "a control character in the value of \(self.name.text)"
        )
        let ends = [self.value.first, self.value.last]
        try require(!ends.contains(0x20) && !ends.contains(0x09), "white space around the value of \(self.name.text)")
    }
}

extension RequestHead {
    var named: [NamedValue] { self.fields.map { NamedValue($0, in: self.bytes) } }

    func checkSyntax() throws {
        let limits = HeadLimits.request
        try require(self.bytes.readableBytes <= limits.head, "a head above the limit")
        try require(self.fields.count <= limits.fields, "more fields than the limit")
        for field in self.fields {
            try require(
                field.line.count <= limits.field + 2 && field.line.upper <= self.bytes.readableBytes,
                "a field out of bounds"
            )
        }
        for field in self.named {
            try field.checkSyntax()
            try require(!field.isLookalike, "\(field.name.text) may be read as another field")
        }
        let line = Array(self.bytes.readableBytesView.prefix { $0 != 0x0D })
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        try require(parts.count == 3 && parts[1].count <= limits.target, "a request line of \(parts.count) parts")
        try require(parts[1].allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != 0x23 }, "an odd byte in the target")
        // Swift's UTF-8 decoder is the reference for ours. It replaces invalid bytes by U+FFFD.
        let target = String(decoding: parts[1], as: UTF8.self)
        try require(Array(target.utf8) == Array(parts[1]), "a target that is not UTF-8")
        try require(
            target.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
            "a control character in the target"
        )
        // A higher minor version is read as 1.
        let minor = parts[2].last ?? 0
        try require(
            parts[2].dropLast().elementsEqual("HTTP/1.".utf8) && minor >= 0x30 && minor <= 0x39
                && self.minorVersion == (minor == 0x30 ? 0 : 1),
            "another version"
        )
        try require(
            !["TRACE", "TRACK", "CONNECT", "PRI"].contains(Array(parts[0]).text),
            "a method that is not served"
        )
    }

    /// Checks that each field for routing, framing or authentication occurs at most once and is not forwarded.
    func checkMeaning() throws {
        let fields = self.named
        let lengths = fields.filter { $0.isCalled("content-length") }
        let codings = fields.filter { $0.isCalled("transfer-encoding") }
        switch self.body {
        case .none: try require(lengths.isEmpty && codings.isEmpty, "framing fields and no body")
        case .length(let length):
            try require(lengths.count == 1 && codings.isEmpty, "a length of several fields")
            try require(length >= 0 && Int(lengths[0].value.text) == length, "a length that is not its field's")
        case .chunked:
            try require(lengths.isEmpty && codings.count == 1 && self.minorVersion == 1, "chunked by several fields")
            // A list may have empty elements.
            let elements = codings[0].value.split { [0x09, 0x20, 0x2C].contains($0) }
            try require(elements.map { Array($0).lowercased.text } == ["chunked"], "another coding")
        case .untilClose: throw Violation("a request until close")
        }
        for name in ["host", "authorization", "martlet-key", "martlet-account"] {
            let count = fields.count { $0.isCalled(name) }
            try require(count <= 1, "\(name) \(count) times")
        }
        try require(self.minorVersion == 0 || fields.contains { $0.isCalled("host") }, "no Host")
        let host = self.bytes.bytes(self.host.lower, self.host.upper)
        try require(host.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"@,/?#\\".utf8.contains($0) }, "an odd host")
        for field in fields where !field.isStripped {
            try require(!field.mustStayHere, "\(field.name.text) would go on")
        }
    }
}

extension NamedValue {
    private static let staying: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "upgrade",
        "http2-settings", "proxy-authorization", "proxy-authenticate", "authorization", "expect",
        "forwarded", "x-real-ip", "x-original-url", "x-rewrite-url",
    ]
    private static let decisive: Set<String> = [
        "x-http-method-override", "x-http-method", "x-method-override", "origin", "sec-fetch-site", "cookie", "via",
    ]

    /// Whether the field belongs to the caller's connection, describes the caller, or is set by the gateway.
    var mustStayHere: Bool { Self.mustStayHere(self.name.lowercased.text) }

    private static func mustStayHere(_ name: String) -> Bool {
        Self.staying.contains(name) || name.hasPrefix("martlet-") || name.hasPrefix("x-forwarded-")
    }

    /// Whether the name, with `-` for each `_`, is that of a field that must stay here or that the gateway acts on.
    var isLookalike: Bool {
        guard self.name.contains(0x5F) else { return false }
        let read = self.hyphenated
        return Self.mustStayHere(read) || Self.decisive.contains(read)
    }

    /// Whether the field describes the caller.
    var isForwarding: Bool {
        let name = self.name.lowercased.text
        return name == "forwarded" || name == "x-real-ip" || name.hasPrefix("x-forwarded-")
    }

    /// The name in lower case, with `-` for each `_`.
    var hyphenated: String { self.name.lowercased.text.replacing("_", with: "-") }
}
