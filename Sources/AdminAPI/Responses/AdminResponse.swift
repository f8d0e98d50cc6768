internal import FoundationEssentials
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

/// What the admin API says to one request.
struct AdminResponse: Sendable {
    let status: HTTPResponse.Status
    let contentType: String
    /// Besides those that every answer has.
    var fields: HTTPFields
    let body: [UInt8]

    init(
        _ status: HTTPResponse.Status,
        _ content: some Encodable,
        contentType: String = "application/json",
        fields: HTTPFields = [:]
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = Self.text(of: content)
    }

    /// Text that is sent as it is.
    init(_ status: HTTPResponse.Status, text: String, contentType: String) {
        self.status = status
        self.contentType = contentType
        self.fields = [:]
        self.body = Array(text.utf8)
    }

    /// A file that is sent as it is.
    init(_ status: HTTPResponse.Status, bytes: [UInt8], contentType: String, fields: HTTPFields) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = bytes
    }

    var head: HTTPResponse {
        var fields = self.fields
        fields[.contentType] = self.contentType
        fields[.contentLength] = String(self.body.count)
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        return HTTPResponse(status: self.status, headerFields: fields)
    }

    /// - Parameter isHead: the request was `HEAD`, whose answer has the same head and no body (RFC 9110 §9.3.2).
    @concurrent
    func write(to writer: consuming ResponseWriter, isHead: Bool) async throws {
        let body = isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: self.body))
        try await writer.write(response: self.head, body: body)
    }

    private static func text(of content: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers that JSON can't write are the only thing that fails, and there are none.
        guard let text = try? encoder.encode(content) else { return Array("{}\n".utf8) }
        return Array(text) + [UInt8(ascii: "\n")]
    }
}
