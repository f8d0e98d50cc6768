import Testing

/// A valid but rare request, and what must arrive of it: everything that need not change, byte for byte.
///
/// The path `/acme/` goes to `/v2/`, `/kept/` goes to `/v3/` with its path kept, and everything else goes to `/`.
struct OddRequest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let request: String
    let arrives: [PassedRequest]
    /// Whether the request is sent one byte at a time.
    var isDripped = false

    init(_ name: String, _ request: String, arrives: PassedRequest..., isDripped: Bool = false) {
        self.testDescription = name
        self.request = request
        self.arrives = arrives
        self.isDripped = isDripped
    }

    /// A GET for `target`, which arrives as `arriving`.
    static func target(_ target: String, _ arriving: String, _ name: String) -> OddRequest {
        OddRequest(name, "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n", arrives: PassedRequest("GET \(arriving)"))
    }

    /// A GET with field lines that arrive as they are.
    static func fields(_ name: String, _ lines: [String]) -> OddRequest {
        var passed = PassedRequest("GET /v2/x")
        passed.fields = lines
        return OddRequest(
            name,
            "GET /acme/x HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n",
            arrives: passed
        )
    }

    /// A request without a body, with an odd method.
    static func method(_ method: String, framing: String? = nil) -> OddRequest {
        OddRequest(
            "method \(method)",
            "\(method) /acme/x HTTP/1.1\r\nHost: a\r\n\r\n",
            arrives: PassedRequest("\(method) /v2/x", framing: framing)
        )
    }

    static let all = methods + targets + fieldLines + hosts + bodies + connections
}
