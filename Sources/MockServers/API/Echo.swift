internal import Crypto
internal import HummingbirdCore
internal import NIOCore

/// What `/api/echo`, and every path below it, says about a request.
package struct Echo: Codable, Equatable, Sendable {
    package let method: String

    /// As it came, without the query.
    package let path: String

    /// As it came, without the question mark; empty where there is none.
    package let query: String

    /// `[name, value]` in the order they came, with their own capitals, repeated ones included.
    package let headers: [[String]]
    package let bodySize: Int

    /// 64 hexadecimal digits.
    package let bodySHA256: String

    /// Whose token opened the API.
    package let account: String

    private enum CodingKeys: String, CodingKey {
        case method
        case path
        case query
        case headers
        case bodySize = "body_size"
        case bodySHA256 = "body_sha256"
        case account
    }

    /// Takes the body through the hash as it arrives; a body of any size costs one buffer.
    static func of(_ exchange: Exchange, account: String) async throws -> Echo {
        var hash = SHA256()
        var size = 0
        for try await part in try await exchange.body() {
            hash.update(data: Array(part.readableBytesView))
            size += part.readableBytes
        }
        return Echo(
            method: exchange.head.method,
            path: exchange.head.path,
            query: exchange.head.query,
            headers: exchange.head.fields.map { [$0.name, $0.value] },
            bodySize: size,
            bodySHA256: hash.finalize().map(Self.hexadecimal).joined(),
            account: account
        )
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
    }
}
