import NIOCore
import NIOEmbedded
import NIOHTTP1

/// Reads requests with llhttp, which is independent of our parser.
enum RequestOracle {
    /// All requests in `bytes`.
    ///
    /// - Throws: if llhttp refuses the bytes.
    static func read(_ bytes: [UInt8]) throws -> [ReadMessage] {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        var messages: [ReadMessage] = []
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head):
                messages.append(
                    ReadMessage(
                        start: "\(head.method.rawValue) \(head.uri) \(head.version)",
                        fields: head.headers.map { "\($0.name): \($0.value)" }
                    )
                )
            case .body(let slice):
                messages[messages.count - 1].body += Array(slice.readableBytesView)
            case .end(let trailers):
                messages[messages.count - 1].isWhole = true
                messages[messages.count - 1].trailers = trailers?.map { "\($0.name): \($0.value)" } ?? []
            }
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        return messages
    }
}
