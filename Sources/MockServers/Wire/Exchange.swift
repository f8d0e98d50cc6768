internal import HummingbirdCore
internal import NIOCore

/// One request to answer.
struct Exchange: Sendable {
    let head: ReceivedHead
    let connection: WireConnection
    private let requestBody: RequestBody

    init(head: ReceivedHead, body: RequestBody, on connection: WireConnection) {
        self.head = head
        self.connection = connection
        self.requestBody = body
    }

    /// The body as it arrives, asking for it first where the client waits to be asked. To be taken once.
    func body() async throws -> RequestBody {
        if self.head.expectsContinue {
            try await self.connection.sendContinue()
        }
        return self.requestBody
    }

    /// The whole body; nil when it is longer than `limit` bytes.
    func wholeBody(limit: Int) async throws -> ByteBuffer? {
        var whole = ByteBuffer()
        for try await var part in try await self.body() {
            guard whole.readableBytes + part.readableBytes <= limit else { return nil }
            whole.writeBuffer(&part)
        }
        return whole
    }
}
