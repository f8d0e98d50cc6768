internal import Glibc

/// The host of an address, to listen on or to connect to: a name or an IP address.
package struct NetworkHost: Hashable, Sendable {
    package enum Kind: Sendable { case name, ipv4, ipv6 }

    package let kind: Kind
    /// In lower case; an IPv6 address in its canonical form (RFC 5952), without brackets.
    package let text: String
    /// Whether traffic to the host stays on this machine: `127.0.0.0/8`, `::1`, `localhost`. Other names don't count,
    /// because their addresses come from a resolver.
    package let isLoopback: Bool

    /// The form in a URL or a `Host` field: an IPv6 address has brackets.
    package var authority: String { self.kind == .ipv6 ? "[\(self.text)]" : self.text }

    /// Whether traffic to a URL's host stays on this machine, as in ``isLoopback``.
    package static func isLoopback(_ host: String) -> Bool {
        let hasNoBrackets = host.contains(":") && !host.hasPrefix("[")
        return (try? NetworkHost(hasNoBrackets ? "[\(host)]" : host))?.isLoopback ?? false
    }

    /// `127.0.0.1`.
    static let loopback = NetworkHost(kind: .ipv4, text: "127.0.0.1", isLoopback: true)

    /// The loopback address if this host means all addresses of the machine; otherwise the host itself.
    var fromHere: NetworkHost {
        switch self.text {
        case "0.0.0.0": .loopback
        case "::": NetworkHost(kind: .ipv6, text: "::1", isLoopback: true)
        default: self
        }
    }

    private init(kind: Kind, text: String, isLoopback: Bool) {
        self.kind = kind
        self.text = text
        self.isLoopback = isLoopback
    }

    /// Parses a host in the form used in URLs.
    init(_ authority: some StringProtocol) throws(ValueError) {
        if authority.hasPrefix("[") {
            guard authority.hasSuffix("]"), let address = IPv6Address(String(authority.dropFirst().dropLast())) else {
                throw ValueError("has brackets around what is not an IPv6 address")
            }
            (self.kind, self.text, self.isLoopback) = (.ipv6, address.canonical, address.isLoopback)
        } else if let first = Self.firstByteOfIPv4(String(authority)) {
            (self.kind, self.text, self.isLoopback) = (.ipv4, String(authority), first == 127)
        } else {
            let name = authority.lowercased()
            try Self.checkName(name)
            (self.kind, self.text, self.isLoopback) = (.name, name, name == "localhost")
        }
    }

    private static func firstByteOfIPv4(_ text: String) -> UInt8? {
        var address = in_addr()
        guard unsafe inet_pton(AF_INET, text, &address) == 1 else { return nil }
        return unsafe withUnsafeBytes(of: address) { unsafe $0[0] }
    }

    private static func checkName(_ name: String) throws(ValueError) {
        guard !name.isEmpty else { throw ValueError("has no host") }
        let labels = name.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != 0x2D && label.last != 0x2D
                && label.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2D || $0 == 0x5F }
        }
        // A numeric last label is a malformed address (127.1, 0x7f.1), which resolvers interpret in surprising ways.
        let endsAsNumber = labels.last.map { $0.allSatisfy(\.isASCIIDigit) || $0.starts(with: "0x".utf8) } ?? false
        guard isName, name.utf8.count <= 253, !endsAsNumber else {
            throw ValueError("has a host that is neither a name nor an address")
        }
    }
}

/// The 16 bytes of an IPv6 address.
private struct IPv6Address {
    private let address: in6_addr

    init?(_ text: String) {
        var address = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        self.address = address
    }

    var isLoopback: Bool {
        let bytes = unsafe withUnsafeBytes(of: self.address) { unsafe Array($0) }
        let isOne = bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        // ::ffff:127.0.0.0/104, which the system sends over IPv4.
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isOne || isMapped && bytes[12] == 127
    }

    var canonical: String {
        var address = self.address
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard unsafe inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
