/// One place where callers connect.
package struct ListenerSettings: Equatable, Sendable {
    package let address: CallerAddress
    /// `nil`: plain HTTP. A Unix socket has none.
    package let tls: ListenerTLSSettings?

    init(address: CallerAddress, tls: ListenerTLSSettings? = nil) {
        self.address = address
        self.tls = tls
    }

    /// Whether only processes of this machine reach it, and none of them is told by a web page to.
    package var isUnixSocket: Bool {
        if case .unix = self.address { true } else { false }
    }
}

/// Somewhere callers connect.
package enum CallerAddress: Hashable, Sendable {
    case network(ListenerAddress)
    /// The absolute path of a Unix socket.
    case unix(path: String)

    /// Whether others than this machine's users can reach it.
    package var isReachableFromOutside: Bool {
        if case .network(let address) = self { !address.host.isLoopback } else { false }
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/martlet/martlet.sock`.
    init(_ text: String) throws(ValueError) {
        guard text.hasPrefix("unix:") else {
            self = .network(try ListenerAddress(text))
            return
        }
        let path = String(text.dropFirst(5))
        guard path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw ValueError("needs the absolute path of a socket, such as unix:/run/martlet/martlet.sock")
        }
        // What `sun_path` holds (unix(7)), with the byte that ends it.
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
    /// A file of secrets.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// TLS on a listener.
package struct ListenerTLSSettings: Equatable, Sendable {
    package let identity: CertificateSettings
    /// A PEM file of those who vouch for callers' certificates; `nil`: callers are asked for none.
    package let clientAuthorities: String?
}

/// TLS towards a route's upstream.
package struct UpstreamTLSSettings: Equatable, Sendable {
    /// A PEM file with the only roots that the upstream is trusted by; `nil`: the system's.
    package let certificateAuthorities: String?
    /// What the gateway proves itself by; `nil`: nothing.
    package let identity: CertificateSettings?
}

/// The control plane's listeners.
package struct AdminSettings: Equatable, Sendable {
    package let address: ListenerAddress
    /// What operators are shown over TCP; `nil`: nothing, they speak plain HTTP.
    package let tls: CertificateSettings?
    /// The file with the tokens that operators present; made at first start when it is missing.
    package let tokenFile: String
    /// The path of a link to the latest process's Unix socket, where its own user and root need no token.
    package let socket: String
}

/// An IP address and TCP port that is listened on.
package struct ListenerAddress: Hashable, Sendable {
    /// An address, never a name: what is bound must not depend on what a resolver says that day.
    package let host: NetworkHost
    /// 0: the system chooses one.
    package let port: Int

    /// On `127.0.0.1`.
    init(loopbackPort port: Int) {
        self.init(host: .loopback, port: port)
    }

    private init(host: NetworkHost, port: Int) {
        self.host = host
        self.port = port
    }

    /// Where this machine reaches it: what listens on every address also listens on loopback, and what is sent there stays
    /// on the machine.
    package var fromHere: ListenerAddress { ListenerAddress(host: self.host.fromHere, port: self.port) }

    /// Reads `127.0.0.1:8080` or `[::1]:8080`.
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

/// The listener for metrics and health, which anybody who reaches it may ask.
package struct MetricsSettings: Equatable, Sendable {
    package let address: ListenerAddress
}
