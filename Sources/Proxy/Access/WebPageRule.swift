import HTTPWire
import NIOCore

/// Keeps web pages out of a gateway that asks for no key: a page in a browser on this machine can send requests to any
/// address that the machine can reach, and so could use every account.
///
/// A browser marks the request of a page with `Origin` or `Sec-Fetch-Site`. A page that has its own name resolve to a
/// loopback address (DNS rebinding) is of the same origin, and is recognized by its `Host`.
struct WebPageRule: Sendable {
    /// In lower case.
    private let hosts: [[UInt8]]

    /// - Parameter hosts: hosts that requests may name besides `localhost` and loopback addresses: without a port, IPv6
    ///   addresses in brackets.
    init(hosts: [String]) {
        self.hosts = hosts.map { Array($0.lowercased().utf8) }
    }

    /// The refusal of a request that a web page may have sent; `nil` if none can have sent it.
    func refusal(of request: RequestHead) -> GatewayError? {
        let bytes = request.bytes.readableBytesUInt8Span
        if let refusal = Self.markedRefusal(of: request, in: bytes) { return refusal }
        let host = request.hostName(in: bytes)
        // HTTP/1.0 without a host: no browser has ever sent that.
        guard !host.isEmpty, !self.isOwn(host, in: bytes) else { return nil }
        return GatewayError(
            .callerForbidden,
            reason:
                "Host is none of the listener's; send localhost or its address, or name callers in the configuration"
        )
    }

    /// The refusal of a request that a browser itself marks as sent by a page, whatever host it names.
    static func markedRefusal(of request: RequestHead) -> GatewayError? {
        Self.markedRefusal(of: request, in: request.bytes.readableBytesUInt8Span)
    }

    private static func markedRefusal(of request: RequestHead, in bytes: Span<UInt8>) -> GatewayError? {
        for field in request.fields {
            switch field.known {
            case .origin: return self.fromPage("Origin")
            case .secFetchSite where !bytes.matches(field.value, "none"): return self.fromPage("Sec-Fetch-Site")
            default: continue
            }
        }
        return nil
    }

    private static func fromPage(_ field: StaticString) -> GatewayError {
        GatewayError(.callerForbidden, "\(field) says that a web page may have sent the request")
    }

    private func isOwn(_ host: ByteRange, in bytes: Span<UInt8>) -> Bool {
        bytes.matches(host, "localhost") || bytes.isLoopbackIPv4(host) || bytes.matches(host, "[::1]")
            || self.hosts.contains { bytes.matches(host, lowercase: $0) }
    }
}

extension Span<UInt8> {
    /// Whether it is an address in `127.0.0.0/8` with four decimal parts: `127.evil.example` is a name.
    fileprivate func isLoopbackIPv4(_ range: ByteRange) -> Bool {
        guard range.count >= 9, range.count <= 15, self.matches(ByteRange(range.lower, range.lower + 4), "127.") else {
            return false
        }
        var dots = 1
        var digits = 0
        for position in range.lower + 4..<range.upper {
            if self[position].isDigit {
                digits += 1
                if digits > 3 { return false }
            } else {
                guard self[position] == 0x2E, digits > 0 else { return false }
                dots += 1
                digits = 0
            }
        }
        return dots == 3 && digits > 0
    }
}
