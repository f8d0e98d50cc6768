internal import Crypto
internal import TokenModel

/// Proves to a receiver who has posted what, and when: the value of `Martlet-Signature`, such as `t=1763683200,v1=5257a8…`.
///
/// `v1` is the HMAC-SHA256 (RFC 2104), under the shared secret and in hexadecimal digits, of the seconds since 1970 in
/// decimal, a full stop, and the body. A receiver that refuses old times can't be told the same twice by a stranger.
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
