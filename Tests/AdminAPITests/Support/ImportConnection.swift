internal import AdminAPI
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import TestKit
internal import Testing

/// A client of bulk imports that reads results while it sends.
struct ImportConnection {
    /// A line of the response, as a client decodes it that knows only the documented API.
    struct Line: Decodable, Equatable {
        let line: Int?
        let account: String?
        let result: String?
        let reason: String?
        let message: String?
        let done: Bool?
        let imported: Int?
        let replaced: Int?
        let skipped: Int?
        let refused: Int?
    }

    private let outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    private var inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    private(set) var status: Int?
    private var received = ""

    /// Opens a connection, sends the head of an import, and runs `body`.
    static func run(
        to admin: AdminFixture,
        token: String = AdminFixture.adminToken,
        _ body: @escaping @Sendable @concurrent (inout ImportConnection) async throws -> Void
    ) async throws {
        let address = admin.server.address
        try await within("the import to end", limit: .seconds(30)) {
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                            wrappingChannelSynchronously: channel
                        )
                    }
                }
            try await connection.executeThenClose { inbound, outbound in
                var client = ImportConnection(outbound: outbound, inbound: inbound.makeAsyncIterator())
                var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/v1/imports")
                head.headers = ["host": "a", "authorization": "Bearer \(token)", "transfer-encoding": "chunked"]
                try await outbound.write(.head(head))
                try await body(&client)
            }
        }
    }

    func send(_ text: String) async throws {
        try await self.outbound.write(.body(.byteBuffer(ByteBuffer(string: text))))
    }

    func finish() async throws { try await self.outbound.write(.end(nil)) }

    /// The next line of the response; `nil` at its end.
    @concurrent
    mutating func next() async throws -> Line? {
        while true {
            if let end = self.received.firstIndex(of: "\n") {
                let line = self.received[..<end]
                self.received = String(self.received[self.received.index(after: end)...])
                return try JSONDecoder().decode(Line.self, from: Data(line.utf8))
            }
            switch try await self.inbound.next() {
            case .head(let head): self.status = Int(head.status.code)
            case .body(let part): self.received += String(buffer: part)
            case .end, nil: return nil
            }
        }
    }
}
