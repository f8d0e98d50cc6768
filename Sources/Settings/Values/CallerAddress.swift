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
