internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTP1
package import TokenModel

/// The head of a request as received, before any field is renamed, joined, reordered or left out.
package struct ReceivedHead: Sendable {
    /// The time at which the mock finished reading the head.
    package let at: Moment
    package let method: String

    /// The request target, byte for byte.
    package let target: String

    /// All fields in their order, with their original capitals, including repeated ones.
    package let fields: [HeaderField]

    /// Whether the connection ends with this exchange (RFC 9112 section 9.3).
    package let closes: Bool

    /// Whether the client holds its body back until the server asks for it (RFC 9110 section 10.1.1).
    package let expectsContinue: Bool

    init(_ head: HTTPRequestHead, at moment: Moment) {
        self.at = moment
        self.method = head.method.rawValue
        self.target = head.uri
        self.fields = head.headers.map { HeaderField($0.name, $0.value) }
        let connection = head.headers[canonicalForm: "Connection"].map { $0.lowercased() }
        let isOld = head.version.major == 1 && head.version.minor == 0
        self.closes = connection.contains("close") || (isOld && !connection.contains("keep-alive"))
        self.expectsContinue =
            !isOld && head.headers.first(name: "Expect").map { $0.lowercased() } == "100-continue"
    }

    /// All values of the field `name`, which is compared without regard to case.
    package func values(_ name: String) -> [String] {
        self.fields.filter { $0.isNamed(name) }.map(\.value)
    }

    /// The path as received, without the query. For an absolute target, without scheme and authority.
    package var path: String {
        String(self.originForm.prefix { $0 != "?" })
    }

    /// The query as received, without its question mark; empty if there is none.
    package var query: String {
        String(self.originForm.drop { $0 != "?" }.dropFirst())
    }

    private var originForm: Substring {
        guard !self.target.hasPrefix("/"), let scheme = self.target.firstRange(of: "://") else {
            return self.target[...]
        }
        let rest = self.target[scheme.upperBound...]
        return rest.firstIndex { $0 == "/" || $0 == "?" }.map { rest[$0...] } ?? "/"
    }
}

/// One request and its connection.
struct Exchange: Sendable {
    let head: ReceivedHead
    let connection: WireConnection
    private let requestBody: RequestBody

    init(head: ReceivedHead, body: RequestBody, on connection: WireConnection) {
        self.head = head
        self.connection = connection
        self.requestBody = body
    }

    /// The body as it arrives. Sends `100 Continue` first if the client waits for it. Call it once.
    func body() async throws -> RequestBody {
        if self.head.expectsContinue {
            try await self.connection.sendContinue()
        }
        return self.requestBody
    }

    /// The whole body; nil if it is longer than `limit` bytes.
    func wholeBody(limit: Int) async throws -> ByteBuffer? {
        var whole = ByteBuffer()
        for try await var part in try await self.body() {
            guard whole.readableBytes + part.readableBytes <= limit else { return nil }
            whole.writeBuffer(&part)
        }
        return whole
    }
}
