import NIOCore
import NIOEmbedded
import NIOHTTP1

/// Reads responses with llhttp, which is independent of our parser.
enum ResponseOracle {
    /// All responses in `bytes`, including interim responses.
    ///
    /// - Parameters:
    ///   - methods: the methods of the requests that were sent.
    ///   - closes: the connection closes after the bytes.
    /// - Throws: if llhttp refuses the bytes.
    static func read(_ bytes: [UInt8], answering methods: [String], closes: Bool = false) throws -> [ReadMessage] {
        let channel = EmbeddedChannel()
        let decoder = HTTPResponseDecoder(
            leftOverBytesStrategy: .dropBytes,
            informationalResponseStrategy: .forward
        )
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
        for method in methods {
            let head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: "/")
            try channel.writeOutbound(HTTPClientRequestPart.head(head))
            try channel.writeOutbound(HTTPClientRequestPart.end(nil))
        }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        if closes { _ = try channel.finish() }
        var messages: [ReadMessage] = []
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
            switch part {
            case .head(let head):
                messages.append(
                    ReadMessage(
                        start: "\(head.version) \(head.status.code)",
                        fields: head.headers.map { "\($0.name): \($0.value)" },
                        isWhole: head.status.code < 200
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
