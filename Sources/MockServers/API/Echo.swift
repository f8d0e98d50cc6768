internal import Crypto
internal import HummingbirdCore
internal import NIOCore

/// The response body of `/api/echo` and of every path below it: a description of the request.
package struct Echo: Codable, Equatable, Sendable {
    package let method: String

    /// As received, without the query.
    package let path: String

    /// As received, without the question mark; empty if there is none.
    package let query: String

    /// `[name, value]` pairs in the order received, with their original capitals, including repeated ones.
    package let headers: [[String]]
    package let bodySize: Int

    /// 64 hexadecimal digits.
    package let bodySHA256: String

    /// The account of the access token.
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

    /// Hashes the body as it arrives. A body of any size takes the memory of one buffer.
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
