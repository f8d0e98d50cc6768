package import HTTPWire
import Listening
import Telemetry

/// What a proxy serves: where it listens, its routes and its limits.
package struct ProxyConfiguration: Sendable {
    package var listeners: [Listener]
    package var routes: [RouteConfiguration]
    /// Who may use them; `nil` for anyone but web pages.
    package var callers: [CallerConfiguration]?
    package var headLimits: HeadLimits
    package var callerTimeouts: CallerTimeouts
    /// Callers' connections at once, and those to upstreams.
    package var connections: Int
    /// Callers' connections of one address at once; 0 for any number.
    package var connectionsPerAddress: Int
    /// Bytes of bodies that are kept so that they can be sent again.
    package var replayMemory: Int
    /// Requests that may wait for credentials at once.
    package var waiters: Int
    /// How long a request may wait for a credential; whoever gives credentials is usually done before.
    package var credentialTimeout: Duration
    /// Event loops, each with a listening socket per address.
    package var eventLoops: Int

    /// Where callers connect, and how.
    package struct Listener: Sendable {
        package var address: Address
        /// `nil`: plain HTTP. A Unix socket has none.
        package var tls: CallerTLS?

        package init(_ address: Address, tls: CallerTLS? = nil) {
            self.address = address
            self.tls = tls
        }

        package init(host: String, port: Int, tls: CallerTLS? = nil) {
            self.init(Address(host: host, port: port), tls: tls)
        }

        package static func unix(path: String) -> Listener { Listener(.unix(path: path)) }
    }

    /// Somewhere to listen.
    package enum Address: Sendable, Hashable, CustomStringConvertible {
        /// A host name or IP address, and a TCP port (0: any free one).
        case network(host: String, port: Int)
        /// An absolute path.
        case unix(path: String)

        package init(host: String, port: Int) {
            self = .network(host: host, port: port)
        }

        /// The TCP port; 0 for a Unix socket, which has none.
        package var port: Int {
            if case .network(_, let port) = self { port } else { 0 }
        }

        /// Whether nobody can listen on both: they are of one port, and one is a part of the other, such as of `0.0.0.0`.
        func collides(with other: Address) -> Bool {
            guard case .network(let mine, let port) = self, case .network(let theirs, port) = other else {
                return false
            }
            return mine == theirs || [mine, theirs].contains { $0 == "0.0.0.0" || $0 == "::" }
        }

        /// What callers name it by in `Host`, without the port; `nil` for a Unix socket.
        var hostField: String? {
            guard case .network(let host, _) = self else { return nil }
            return host.contains(":") ? "[\(host)]" : host
        }

        package var description: String {
            switch self {
            case .network(_, let port): "\(self.hostField ?? ""):\(port)"
            case .unix(let path): "unix:\(path)"
            }
        }
    }

    /// What callers name the listeners by in `Host`.
    var hostFields: [String] { self.listeners.compactMap(\.address.hostField) }

    /// Who may connect to its Unix sockets: without keys for callers only this user, since nothing else would tell who it
    /// is.
    var unixSocketMode: UInt32 { self.callers == nil ? 0o600 : 0o666 }

    package init(
        listeners: [Listener],
        routes: [RouteConfiguration],
        callers: [CallerConfiguration]? = nil,
        headLimits: HeadLimits = .request,
        callerTimeouts: CallerTimeouts = CallerTimeouts(),
        connections: Int = 10_000,
        connectionsPerAddress: Int = 0,
        replayMemory: Int = 64 << 20,
        waiters: Int = 10_000,
        credentialTimeout: Duration = .seconds(15),
        eventLoops: Int
    ) {
        self.listeners = listeners
        self.routes = routes
        self.callers = callers
        self.headLimits = headLimits
        self.callerTimeouts = callerTimeouts
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.replayMemory = replayMemory
        self.waiters = waiters
        self.credentialTimeout = credentialTimeout
        self.eventLoops = eventLoops
    }
}

/// What a configuration means to an event loop: swapped as a whole, between two requests.
struct RoutingSnapshot: Sendable {
    let table: RouteTable
    let callers: CallerTable
    let headLimits: HeadLimits
    let callerTimeouts: CallerTimeouts
    /// Of this moment; each later change comes as an event.
    var credentials = CredentialTable()
    /// `nil` writes none.
    let accessLog: LogWriter?

    /// - Parameters:
    ///   - hosts: names and addresses of the listeners, as they stand in a `Host` field.
    ///   - old: what runs until then.
    init(_ plan: ProxyConfiguration, hosts: [String], accessLog: LogWriter?, following old: RoutingSnapshot? = nil) {
        let table = RouteTable(plan.routes, following: old?.table)
        self.table = table
        self.callers = CallerTable(plan.callers, routes: table, hosts: hosts)
        self.headLimits = plan.headLimits
        self.callerTimeouts = plan.callerTimeouts
        self.accessLog = accessLog
    }
}

/// Why the proxy could not start. Equal when the codes are equal.
package struct ProxyError: Error, Sendable {
    /// Kinds of failure.
    package enum Code: String, Sendable {
        /// Another process listens there, or the address is not this machine's.
        case addressUnavailable
        /// This user may not listen there.
        case notAllowed
        /// The certificates that an upstream is to be trusted by can't be read.
        case trustUnreadable
        /// A certificate, its key or those who vouch for others can't be read, or don't fit.
        case certificateUnusable
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Reads what the system said when a listener was to be opened.
    ///
    /// - Parameter own: the addresses that this process listens on already.
    init(
        listeningOn address: ProxyConfiguration.Address,
        _ fault: ListenFault,
        beside own: [ProxyConfiguration.Address] = []
    ) {
        let message = "can't listen on \(address): "
        switch fault {
        case .inUse:
            if let other = own.first(where: { $0.collides(with: address) }) {
                self.init(.addressUnavailable, "\(message)the listener on \(other) has that port; change listeners")
            } else {
                self.init(
                    .addressUnavailable,
                    "\(message)\(fault.reason); stop the other process or change listeners"
                )
            }
        case .notAllowed: self.init(.notAllowed, "\(message)\(fault.reason); change listeners")
        case .unavailable, .system, .other:
            self.init(.addressUnavailable, "\(message)\(fault.reason); change listeners")
        }
    }
}

extension ProxyError {
    init(_ error: SocketFileError) { self.init(.addressUnavailable, error.description) }
}

extension ProxyError: Equatable {
    package static func == (left: ProxyError, right: ProxyError) -> Bool { left.code == right.code }
}
