internal import HTTPTypes
internal import HummingbirdCore
package import NIOCore
internal import TextCoding
internal import TokenModel

/// Writes a response to the wire.
struct MockResponseWriter {
    /// The head of the request that the response belongs to.
    let head: ReceivedHead
    let connection: WireConnection

    /// Writes the head and the body, or the head with the full length and half of the body.
    ///
    /// Runs off any actor, as the framework's writer does.
    @concurrent func write(_ response: MockResponse, half: Bool, closes: Bool, with writer: consuming ResponseWriter)
        async throws
    {
        let httpResponse = self.httpResponse(to: response, closes: closes || half)
        // RFC 9110 section 6.4.1: these responses never have a body, whatever their head says.
        guard self.head.method != "HEAD", response.status != 204, response.status != 304 else {
            return try await writer.writeResponse(httpResponse)
        }
        let body = half ? response.body.firstHalf : response.body
        if !half, case .whole(let bytes) = body {
            return try await writer.write(response: httpResponse, body: ResponseBody(byteBuffer: bytes))
        }
        var bodyWriter: any ResponseBodyWriter = try await writer.writeHead(httpResponse)
        try await self.write(body, with: &bodyWriter)
        if !half {
            try await bodyWriter.finish(nil)
        }
    }

    private func httpResponse(to response: MockResponse, closes: Bool) -> HTTPResponse {
        var fields = HTTPFields()
        for field in response.fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields.append(HTTPField(name: name, value: field.value))
        }
        if !fields.contains(.date) {
            fields[.date] = HTTPDate.text(of: Moment.now.wall)
        }
        if let length = response.body.length, !fields.contains(.contentLength), !fields.contains(.transferEncoding) {
            fields[.contentLength] = String(length)
        }
        if closes, !fields.contains(.connection) {
            fields[.connection] = "close"
        }
        return HTTPResponse(status: HTTPResponse.Status(code: response.status), headerFields: fields)
    }

    @concurrent private func write(_ body: MockResponseBody, with writer: inout any ResponseBodyWriter) async throws {
        switch body {
        case .empty:
            break
        case .whole(let bytes):
            try await writer.write(bytes)
        case .pattern(var left):
            while left > 0 {
                let length = min(left, BytePattern.block.readableBytes)
                try await writer.write(BytePattern.block.getSlice(at: 0, length: length) ?? BytePattern.block)
                left -= length
            }
        case .events(let count, let every):
            let start = ContinuousClock.now
            for number in 0..<count {
                // Each deadline is counted from the start, so that delays of writes don't add up.
                try await Task.sleep(until: start.advanced(by: every * number), clock: .continuous)
                try await writer.write(ByteBuffer(string: "id: \(number + 1)\ndata: event \(number + 1)\n\n"))
            }
        }
    }
}

/// The bytes that `/api/bytes` serves: byte *i* is *i* mod 251. A prime period does not align with any power of two,
/// so that a lost or duplicated buffer is detected.
package enum BytePattern {
    /// The byte at `index`.
    package static func byte(at index: Int) -> UInt8 { UInt8(index % Self.period) }

    /// The bytes sent per write: whole periods, close to 64 KiB.
    static let block = ByteBuffer(bytes: (0..<(Self.period * 261)).map(Self.byte(at:)))

    private static let period = 251
}

/// The body of a response.
package enum MockResponseBody: Equatable, Sendable {
    case empty
    case whole(ByteBuffer)

    /// `count` bytes of ``BytePattern``, generated while they are sent.
    case pattern(count: Int)

    /// `count` server-sent events. The first one is sent at once.
    case events(count: Int, every: Duration)

    /// The value of `Content-Length`; nil if the length is not known beforehand.
    package var length: Int? {
        switch self {
        case .empty: 0
        case .whole(let bytes): bytes.readableBytes
        case .pattern(let count): count
        case .events: nil
        }
    }

    /// The first half, rounded down.
    package var firstHalf: MockResponseBody {
        switch self {
        case .empty: .empty
        case .whole(let bytes): .whole(bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2) ?? bytes)
        case .pattern(let count): .pattern(count: count / 2)
        case .events(let count, let every): .events(count: count / 2, every: every)
        }
    }
}
