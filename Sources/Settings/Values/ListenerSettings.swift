/// An address where callers connect.
package struct ListenerSettings: Equatable, Sendable {
    package let address: CallerAddress
    /// `nil`: plain HTTP. Always `nil` for a Unix socket.
    package let tls: ListenerTLSSettings?

    init(address: CallerAddress, tls: ListenerTLSSettings? = nil) {
        self.address = address
        self.tls = tls
    }

    /// Whether it is a Unix socket, which only processes of this machine can reach, and which no web page can make a
    /// browser use.
    package var isUnixSocket: Bool {
        if case .unix = self.address { true } else { false }
    }
}

/// The address of a listener for callers.
package enum CallerAddress: Hashable, Sendable {
    case network(ListenerAddress)
    /// The absolute path of a Unix socket.
    case unix(path: String)

    /// Whether anyone besides this machine's users can reach it.
    package var isReachableFromOutside: Bool {
        if case .network(let address) = self { !address.host.isLoopback } else { false }
    }

    /// Parses `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/martlet/martlet.sock`.
    init(_ text: String) throws(ValueError) {
        guard text.hasPrefix("unix:") else {
            self = .network(try ListenerAddress(text))
            return
        }
        let path = String(text.dropFirst(5))
        guard path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw ValueError("needs the absolute path of a socket, such as unix:/run/martlet/martlet.sock")
        }
        // The size of `sun_path` (unix(7)), without the terminating byte.
        guard path.utf8.count <= 107 else {
            throw ValueError("has a path of more than 107 bytes, too long for a socket")
        }
        self = .unix(path: path)
    }
}

extension CallerAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .network(let address): address.description
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// A certificate and its key, each in a PEM file.
package struct CertificateSettings: Hashable, Sendable {
    package let certificate: String
    /// A secret file.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// TLS on a listener.
package struct ListenerTLSSettings: Equatable, Sendable {
    package let identity: CertificateSettings
    /// A PEM file with the roots for callers' certificates; `nil`: callers are not asked for certificates.
    package let clientAuthorities: String?
}

/// TLS towards a route's upstream.
package struct UpstreamTLSSettings: Equatable, Sendable {
    /// A PEM file with the only trusted roots for the upstream; `nil`: the system's roots.
    package let certificateAuthorities: String?
    /// The gateway's client certificate; `nil`: none.
    package let identity: CertificateSettings?
}

/// The listeners of the control plane.
package struct AdminSettings: Equatable, Sendable {
    package let address: ListenerAddress
    /// The certificate of the TCP listener; `nil`: it serves plain HTTP.
    package let tls: CertificateSettings?
    /// The file with the operators' tokens. The first start creates it if it is missing.
    package let tokenFile: String
    /// The path of a link to the Unix socket of the process that started last. On that socket, the gateway's own user
    /// and root need no token.
    package let socket: String
}

/// An IP address and a TCP port to listen on.
package struct ListenerAddress: Hashable, Sendable {
    /// Always an address, never a name, so that binding doesn't depend on a resolver.
    package let host: NetworkHost
    /// 0: the system assigns one.
    package let port: Int

    /// A port on `127.0.0.1`.
    init(loopbackPort port: Int) {
        self.init(host: .loopback, port: port)
    }

    private init(host: NetworkHost, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address for clients on this machine. A listener on all addresses is also on loopback, and traffic there
    /// stays on the machine.
    package var fromHere: ListenerAddress { ListenerAddress(host: self.host.fromHere, port: self.port) }

    /// Parses `127.0.0.1:8080` or `[::1]:8080`.
    init(_ text: String) throws(ValueError) {
        let expected = ValueError("expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080")
        guard !text.hasPrefix("unix:") else { throw ValueError("can't be a Unix socket, only listeners can") }
        guard let colon = text.lastIndex(of: ":") else { throw expected }
        let host: NetworkHost
        do throws(ValueError) { host = try NetworkHost(text[..<colon]) } catch { throw expected }
        guard host.kind != .name else { throw expected }
        self.host = host
        self.port = try PortNumber.parse(text[text.index(after: colon)...])
    }
}

extension ListenerAddress: CustomStringConvertible {
    package var description: String { "\(self.host.authority):\(self.port)" }
}

/// The listener for metrics and health, which requires no authorization.
package struct MetricsSettings: Equatable, Sendable {
    package let address: ListenerAddress
}

/// The listener to which a provider sends the browser back, if the gateway itself receives the answer. It serves only
/// paths below `/login/`.
package struct LoginListenerSettings: Equatable, Sendable {
    package let address: ListenerAddress
    /// `nil`: it serves plain HTTP, on loopback or behind a proxy that terminates TLS.
    package let tls: CertificateSettings?
    /// As browsers see it. Its path is below `/login/`, in the normal form, and not that of a page of the gateway.
    package let redirectURI: RedirectURI
}
