internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Sends requests to an admin API over real sockets and records everything that it receives.
final class AdminCaller: Sendable {
    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let body: String

        /// The error code of a problem response; `nil` for any other response.
        var problem: String? {
            guard self.headers.first(name: "content-type") == "application/problem+json" else { return nil }
            return (try? self.read(Problem.self))?.type.replacing("urn:martlet:error:", with: "")
        }

        /// The field that a problem response names as invalid.
        var field: String? { (try? self.read(Problem.self))?.field }
        var detail: String? { (try? self.read(Problem.self))?.detail }

        func read<Content: Decodable>(_ content: Content.Type) throws -> Content {
            try JSONDecoder().decode(content, from: Data(self.body.utf8))
        }

        private struct Problem: Decodable {
            let type: String
            let detail: String
            let field: String?
        }
    }

    let base: String
    private let token: String
    private let client: HTTPClient
    private let transcript = Mutex("")

    init(base: String, token: String) {
        self.base = base
        self.token = token
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 200
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// The heads and bodies of all responses.
    var received: String { self.transcript.withLock { $0 } }

    /// Sends a request with the right token.
    @discardableResult
    func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> Answer {
        try await self.send(method, path, authorization: "Bearer \(self.token)", bytes: body.map { Array($0.utf8) })
    }

    @discardableResult
    func send(
        _ method: HTTPMethod,
        _ path: String,
        authorization: String?,
        bytes: [UInt8]? = nil
    ) async throws -> Answer {
        try await self.send(
            method,
            path,
            fields: authorization.map { ["authorization": $0] } ?? [:],
            bytes: bytes
        )
    }

    /// Sends a request with these fields and no token.
    @discardableResult
    func send(
        _ method: HTTPMethod,
        _ path: String,
        fields: HTTPHeaders,
        bytes: [UInt8]? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: self.base + path)
        request.method = method
        request.headers.add(contentsOf: fields)
        if let bytes { request.body = .bytes(ByteBuffer(bytes: bytes)) }
        let answer = try await self.client.execute(request, timeout: .seconds(60))
        let body = String(buffer: try await answer.body.collect(upTo: 1 << 24))
        self.transcript.withLock { $0 += "\(answer.status.code) \(answer.headers)\n\(body)\n" }
        return Answer(status: Int(answer.status.code), headers: answer.headers, body: body)
    }

    func close() async throws { try await self.client.shutdown() }
}
