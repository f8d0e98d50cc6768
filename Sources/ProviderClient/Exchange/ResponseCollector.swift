internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import OAuth
internal import Synchronization
internal import TokenModel

/// Collects the parts of a response that a verdict needs, even if the connection fails later.
final class ResponseCollector: HTTPClientResponseDelegate {
    typealias Response = Void

    /// The response exceeds the size limit. Thrown to close the connection.
    struct TooLarge: Error {}

    private struct Collected {
        var head: HTTPResponseHead?
        var body = ByteBuffer()
        var hasEnded = false
        var isTooLarge = false
    }

    private let collected = Mutex(Collected())
    private let isEncrypted: Bool
    private let limit: Int

    /// - Parameters:
    ///   - isEncrypted: whether the connection uses TLS. If so, an unclean close is an error, so the end of a response
    ///     without a length is certain.
    ///   - limit: the maximum size of the body in bytes.
    init(isEncrypted: Bool, limit: Int) {
        self.isEncrypted = isEncrypted
        self.limit = limit
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        self.collected.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let fits = self.collected.withLock { collected in
            guard collected.body.readableBytes + part.readableBytes <= self.limit else {
                collected.isTooLarge = true
                return false
            }
            collected.body.writeImmutableBuffer(part)
            return true
        }
        return fits ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(TooLarge())
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {
        self.collected.withLock { $0.hasEnded = true }
    }

    /// The response so far; `nil` without a head.
    func response() -> ProviderResponse? {
        self.collected.withLock { collected in
            guard let head = collected.head else { return nil }
            return ProviderResponse(
                status: Int(head.status.code),
                contentType: head.headers.first(name: "Content-Type"),
                contentEncoding: Self.encoding(head.headers),
                retryAfter: head.headers.first(name: "Retry-After"),
                date: head.headers.first(name: "Date"),
                body: Secret(collected.body.readableBytesView),
                bodyEnd: self.bodyEnd(collected, head)
            )
        }
    }

    private func bodyEnd(_ collected: Collected, _ head: HTTPResponseHead) -> ProviderResponse.BodyEnd {
        if collected.isTooLarge { return .tooLarge }
        guard collected.hasEnded else { return .cut }
        let hasLength =
            head.headers.contains(name: "Content-Length") || head.headers.contains(name: "Transfer-Encoding")
        return hasLength || self.isEncrypted ? .proven : .assumed
    }

    /// All codings of the body except `chunked`, whether they are named as content or transfer codings.
    private static func encoding(_ headers: HTTPHeaders) -> String? {
        let encodings =
            headers["Content-Encoding"]
            + headers["Transfer-Encoding"].filter { $0.lowercased() != "chunked" }
        return encodings.isEmpty ? nil : encodings.joined(separator: ", ")
    }
}
