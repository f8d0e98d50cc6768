import HTTPWire
import NIOCore

/// What keeps web pages out of a gateway that asks for no key: a page in a browser on this machine can send requests to
/// any address the machine can reach, and so use every account.
///
/// A browser says so by `Origin` or `Sec-Fetch-Site`. A page that has its own name resolve to a loopback address (DNS
/// rebinding) is of the same origin, and is known by the `Host` it names.
struct WebPageRule: Sendable {
    /// In lower case.
    private let hosts: [[UInt8]]

    /// - Parameter hosts: names that requests may be sent to, without a port and IPv6 addresses in brackets, besides
    ///   `localhost` and loopback addresses.
    init(hosts: [String]) {
        self.hosts = hosts.map { Array($0.lowercased().utf8) }
    }

    /// That a web page may have sent the request; `nil` where none can.
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

    /// That a browser says so itself, whatever host the request names.
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
    /// `127.0.0.0/8` in four decimal parts: `127.evil.example` is a name.
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
