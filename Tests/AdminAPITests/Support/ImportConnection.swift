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
        try await within("the import to end") {
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

    /// Sends the head of an import, and then `line` again and again, without reading anything, until the connection ends.
    static func send(_ line: String, withoutReadingTo admin: AdminFixture) async throws {
        let address = admin.server.address
        try await within("the connection to end") {
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .channelOption(.autoRead, value: false)
                .connect(host: address.host, port: address.port).get()
            let head = """
                POST /v1/imports HTTP/1.1\r
                Host: a\r
                Authorization: Bearer \(AdminFixture.adminToken)\r
                Content-Length: 99999999999999\r
                \r

                """
            try await connection.writeAndFlush(ByteBuffer(string: head)).get()
            let lines = ByteBuffer(string: String(repeating: line, count: 20_000))
            while (try? await connection.writeAndFlush(lines).get()) != nil {}
        }
    }

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

/// Lines of bulk imports.
enum ImportText {
    static let alice = #"{"account": "alice", "tokens": {"refresh_token": "alice-canary"}}"#
    static let bob = """
        {"account": "bob", "tokens": {"refresh_token": "bob-canary", "access_token": "access-canary", "expires_in": 60}}
        """

    /// A line for each of these members of the family.
    static func customers(_ numbers: some Sequence<Int>, _ token: String = "canary") -> String {
        numbers.map { #"{"account": "customer-\#($0)", "tokens": {"refresh_token": "\#(token)-\#($0)"}}"# + "\n" }
            .joined()
    }
}

extension AdminFixture {
    /// Sends a bulk import whole, and reads its response.
    func importLines(
        _ text: String,
        query: String = "",
        token: String = Self.adminToken
    ) async throws -> [ImportConnection.Line] {
        let answer = try await self.caller.send(
            .POST,
            "/v1/imports\(query)",
            authorization: "Bearer \(token)",
            bytes: Array(text.utf8)
        )
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.headers.first(name: "content-type") == "application/x-ndjson")
        #expect(answer.headers.contains(name: "martlet-gateway"))
        return try answer.body.split(separator: "\n").map {
            try JSONDecoder().decode(ImportConnection.Line.self, from: Data($0.utf8))
        }
    }
}
