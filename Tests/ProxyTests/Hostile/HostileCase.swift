import NIOCore
import Proxy
import Testing

/// A request that a caller sends to a route from `/acme/` to `/v2/`, and the expected outcome.
struct HostileCase: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        /// The gateway refuses the request by its head. Nothing of the request leaves.
        case refused(GatewayError.Code)
        /// The gateway refuses the request within the body. Only `content` has left, one chunk for each element, and
        /// the upstream sees no end of the body.
        case cut(GatewayError.Code, after: [String])
        /// The gateway forwards these requests.
        case credentials([PassedRequest])
    }

    let row: HostileRow
    let name: String
    let request: String
    let outcome: Outcome

    var testDescription: String { "\(self.row.rawValue): \(self.name)" }

    static let all = framing + syntax + targets + requestLines + meaningfulFields + connection + chunkedBodies
}

/// A request as it must leave, without the fields that the gateway always adds.
struct PassedRequest: Sendable {
    /// Method and target.
    let line: String
    /// The caller's field lines that leave, each as it came.
    var fields: [String] = []
    /// The line that frames the body; `nil` if there is no body.
    var framing: String?
    var body = ""
    var trailers: [String] = []
    /// The HTTP version that the gateway has received.
    let version: String

    init(
        _ line: String,
        _ fields: String...,
        framing: String? = nil,
        body: String = "",
        trailers: [String] = [],
        version: String = "1.1"
    ) {
        self.line = line
        self.fields = fields
        self.framing = framing
        self.body = body
        self.trailers = trailers
        self.version = version
    }

    /// The bytes of the head at an upstream that listens on `port`.
    func head(port: Int) -> String {
        var lines = [self.line + " HTTP/1.1", "Host: 127.0.0.1:\(port)"]
        lines += self.fields
        lines.append("Via: \(self.version) martlet (rig)")
        if let framing = self.framing { lines.append(framing) }
        lines.append("Authorization: Bearer token-1")
        return lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    var isChunked: Bool { self.framing == "Transfer-Encoding: chunked" }
}

// MARK: - Factories

extension HostileCase {
    /// A case with `request` as it stands.
    static func raw(
        _ row: HostileRow,
        _ name: String,
        _ request: String,
        _ code: GatewayError.Code = .badRequest
    ) -> HostileCase {
        HostileCase(row: row, name: name, request: request, outcome: .refused(code))
    }

    /// A case with a head of these lines.
    static func head(
        _ row: HostileRow,
        _ lines: String...,
        refused code: GatewayError.Code = .badRequest
    ) -> HostileCase {
        .raw(row, lines.joined(separator: " | "), lines.map { $0 + "\r\n" }.joined() + "\r\n", code)
    }

    /// A case with a request that is valid except for these field lines.
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

    /// A case with a request that is valid except for its request line.
    static func line(_ row: HostileRow, _ line: String, refused code: GatewayError.Code = .badRequest) -> HostileCase {
        .raw(row, line, line + "\r\nHost: a\r\n\r\n", code)
    }

    /// A case with a request that is accepted, and what leaves.
    static func passing(_ row: HostileRow, _ name: String, _ request: String, _ passed: PassedRequest...) -> HostileCase
    {
        HostileCase(row: row, name: name, request: request, outcome: .credentials(passed))
    }

    /// A case with a chunked body that is refused after `content` has passed.
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
