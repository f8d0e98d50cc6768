import NIOCore
import NIOEmbedded
import NIOHTTP1

/// Reads requests with llhttp.
enum LLHTTPReader {
    /// The requests in `stream`, which must contain whole requests only.
    ///
    /// - Throws: an error when llhttp refuses the stream.
    static func read(_ stream: [UInt8]) throws -> [ReadRequest] {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
        try channel.writeInbound(ByteBuffer(bytes: stream))
        var requests: [ReadRequest] = []
        var isWhole = true
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head):
                isWhole = false
                requests.append(
                    ReadRequest(
                        method: head.method.rawValue,
                        target: head.uri,
                        serial: head.headers["X-Serial"].joined(separator: ", "),
                        framing: ReadRequest.Framing(
                            lengths: head.headers["Content-Length"],
                            codings: head.headers["Transfer-Encoding"]
                        )
                    )
                )
            case .body(let slice): requests[requests.count - 1].body += Array(slice.readableBytesView)
            case .end: isWhole = true
            }
        }
        guard isWhole else { throw WrongBytes("llhttp waits for the end of \(requests.last?.target ?? "")") }
        let leftovers = try? channel.finish(acceptAlreadyClosed: true)
        guard leftovers?.hasLeftOvers != true else { throw WrongBytes("llhttp has something left over") }
        return requests
    }
}
