import NIOCore
import Proxy
import Testing

/// A request that a caller sends to a route from `/acme/` to `/v2/`, and what must come of it.
struct HostileCase: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        /// Judged by the head: nothing of it leaves.
        case refused(GatewayError.Code)
        /// Refused within the body, of which `content` has left in one chunk for each: the upstream sees no end of it.
        case cut(GatewayError.Code, after: [String])
        /// It leaves as these requests.
        case credentials([PassedRequest])
    }

    let row: HostileRow
    let name: String
    let request: String
    let outcome: Outcome

    var testDescription: String { "\(self.row.rawValue): \(self.name)" }

    static let all = framing + syntax + targets + requestLines + meaningfulFields + connection + chunkedBodies
}

/// A request as it must leave: all that the gateway does not always add.
struct PassedRequest: Sendable {
    /// Method and target.
    let line: String
    /// What leaves of the caller's field lines, each as it came.
    var fields: [String] = []
    /// The line that frames the body; none where there is no body.
    var framing: String?
    var body = ""
    var trailers: [String] = []

    init(
        _ line: String,
        _ fields: String...,
        framing: String? = nil,
        body: String = "",
        trailers: [String] = []
    ) {
        self.line = line
        self.fields = fields
        self.framing = framing
        self.body = body
        self.trailers = trailers
    }

    /// The bytes of the head at an upstream that listens at `port`.
    func head(port: Int) -> String {
        var lines = [self.line + " HTTP/1.1", "Host: 127.0.0.1:\(port)"]
        lines += self.fields
        lines.append("Via: 1.1 martlet")
        if let framing = self.framing { lines.append(framing) }
        lines.append("Authorization: Bearer token-1")
        return lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    var isChunked: Bool { self.framing == "Transfer-Encoding: chunked" }
}

// MARK: - Ways to write one

extension HostileCase {
    /// As it stands.
    static func raw(
        _ row: HostileRow,
        _ name: String,
        _ request: String,
        _ code: GatewayError.Code = .badRequest
    ) -> HostileCase {
        HostileCase(row: row, name: name, request: request, outcome: .refused(code))
    }

    /// A head of these lines.
    static func head(
        _ row: HostileRow,
        _ lines: String...,
        refused code: GatewayError.Code = .badRequest
    ) -> HostileCase {
        .raw(row, lines.joined(separator: " | "), lines.map { $0 + "\r\n" }.joined() + "\r\n", code)
    }

    /// A request that is in order but for these field lines.
    static func fields(
        _ row: HostileRow,
        _ lines: String...,
        refused code: GatewayError.Code = .badRequest
    ) -> HostileCase {
        .raw(
            row,
            lines.joined(separator: " | "),
            "POST /acme/x HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n",
            code
        )
    }

    /// A request that is in order but for its first line.
    static func line(_ row: HostileRow, _ line: String, refused code: GatewayError.Code = .badRequest) -> HostileCase {
        .raw(row, line, line + "\r\nHost: a\r\n\r\n", code)
    }

    /// A request that is taken, and what leaves.
    static func passing(_ row: HostileRow, _ name: String, _ request: String, _ passed: PassedRequest...) -> HostileCase
    {
        HostileCase(row: row, name: name, request: request, outcome: .credentials(passed))
    }

    /// A chunked body that is refused when it has gone on for `content`.
    static func chunks(
        _ row: HostileRow,
        _ body: String,
        after content: [String] = [],
        refused code: GatewayError.Code = .badRequest
    ) -> HostileCase {
        let name = "\(String(body.prefix(40)).debugDescription), \(body.unicodeScalars.count) bytes"
        return HostileCase(row: row, name: name, request: body, outcome: .cut(code, after: content))
    }
}
