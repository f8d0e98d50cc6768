internal import AsyncHTTPClient
internal import Crypto
internal import NIOCore
internal import NIOHTTP1
internal import TokenModel

/// Posts alerts, and reports for each whether it was taken. Follows no redirect and reads no response body.
struct AlertClient: Sendable {
    /// How a request ended.
    enum Ending: Sendable {
        case taken
        /// The response's status, which is not 2xx.
        case refused(Int)
        /// There was no response; why, in one word.
        case failed(String)
    }

    private let client: HTTPClient

    init(on group: any EventLoopGroup) {
        var pool = HTTPClient.Configuration.ConnectionPool(idleTimeout: .seconds(10))
        pool.retryConnectionEstablishment = false
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(2)),
            connectionPool: pool,
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        self.client = HTTPClient(eventLoopGroup: group, configuration: configuration)
    }

    func post(_ body: [UInt8], signature: String, to url: String, timeout: Duration) async -> Ending {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = [
            "Content-Type": "application/json",
            "User-Agent": "martlet",
            AlertSignature.header: signature,
        ]
        request.body = .bytes(body)
        do {
            let deadline = NIODeadline.now() + .nanoseconds(timeout.clampedNanoseconds)
            let status = try await self.client.execute(request, deadline: deadline).status
            return (200..<300).contains(status.code) ? .taken : .refused(Int(status.code))
        } catch let error as HTTPClientError where Self.timeouts.contains(error) {
            return .failed("timed_out")
        } catch {
            return .failed("unreachable")
        }
    }

    private static let timeouts: [HTTPClientError] = [.deadlineExceeded, .connectTimeout, .readTimeout, .writeTimeout]

    /// Call it once, at the end.
    func shutDown() async {
        // Throws only if it was shut down before.
        try? await self.client.shutdown()
    }
}

/// Proves to a receiver who has posted what, and when. It is the value of `Martlet-Signature`, such as
/// `t=1763683200,v1=5257a8…`.
///
/// `v1` is the HMAC-SHA256 (RFC 2104), in hexadecimal digits and with the shared secret as key, of the seconds since
/// 1970 in decimal, a full stop, and the body. A receiver that refuses old times is protected against a replay.
enum AlertSignature {
    static let header = "Martlet-Signature"

    static func value(of body: [UInt8], at time: WallTime, secret: Secret) -> String {
        let seconds = time.millisecondsSince1970 / 1_000
        let key = secret.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe SymmetricKey(data: bytes) }
        }
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(seconds).".utf8) + body, using: key)
        let digits = code.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        return "t=\(seconds),v1=\(digits)"
    }
}
