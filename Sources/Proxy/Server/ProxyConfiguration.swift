package import HTTPWire
import Synchronization
import SystemSupport
import Telemetry
package import TokenModel

/// What a proxy serves: where it listens, its routes and its limits.
package struct ProxyConfiguration: Sendable {
    package var listeners: [Listener]
    package var routes: [RouteConfiguration]
    /// Who may use the routes; `nil` for anyone but web pages.
    package var callers: [CallerConfiguration]?
    package var headLimits: HeadLimits
    package var callerTimeouts: CallerTimeouts
    /// Limit of concurrent connections from callers. The same number limits the connections to upstreams.
    package var connections: Int
    /// Limit of concurrent connections from one address; 0 for no limit.
    package var connectionsPerAddress: Int
    /// Limit of the request body bytes that are kept for replays.
    package var replayMemory: Int
    /// Limit of the bytes that unfinished heads hold. Each event loop has an equal share.
    package var headMemory: Int
    /// Requests that may wait for credentials at once.
    package var waiters: Int
    /// How long a request may wait for a credential. The ``CredentialSource`` usually returns earlier.
    package var credentialTimeout: Duration
    /// The accounts whose use an operator must approve; `nil` for none.
    package var approval: ApprovalRule?
    /// What is added to `Via`. A reload changes nothing in it.
    package var via: Via
    /// Number of event loops; each has one listening socket per network address.
    package var eventLoops: Int

    /// Where callers connect, and how.
    package struct Listener: Sendable {
        package var address: Address
        /// `nil` for plain HTTP. A Unix socket has no TLS.
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

    /// Accounts that may be used only while an operator's approval stands.
    package struct ApprovalRule: Sendable {
        /// How long the ``CredentialSource`` lets a request wait for an approval, besides ``credentialTimeout``.
        package var wait: Duration
        package var applies: @Sendable (AccountID) -> Bool

        package init(wait: Duration, applies: @escaping @Sendable (AccountID) -> Bool) {
            self.wait = wait
            self.applies = applies
        }
    }

    /// An address to listen on.
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

        /// Whether the two can't be listened on together: they have the same port, and one includes the other, as
        /// `0.0.0.0` does.
        func collides(with other: Address) -> Bool {
            guard case .network(let mine, let port) = self, case .network(let theirs, port) = other else {
                return false
            }
            return mine == theirs || [mine, theirs].contains { $0 == "0.0.0.0" || $0 == "::" }
        }

        /// The host as callers write it in `Host`, without the port; `nil` for a Unix socket.
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

    /// The listeners' hosts as callers write them in `Host`.
    var hostFields: [String] { self.listeners.compactMap(\.address.hostField) }

    /// File mode of the Unix sockets. Without caller keys only the gateway's own user may connect, since nothing else
    /// would authenticate the caller.
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
        headMemory: Int = 64 << 20,
        waiters: Int = 10_000,
        credentialTimeout: Duration = .seconds(15),
        approval: ApprovalRule? = nil,
        via: Via = .random(),
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
        self.headMemory = headMemory
        self.waiters = waiters
        self.credentialTimeout = credentialTimeout
        self.approval = approval
        self.via = via
        self.eventLoops = eventLoops
    }
}

/// What a configuration means to an event loop. A loop replaces it as a whole, between two requests.
struct RoutingSnapshot: Sendable {
    let table: RouteTable
    let callers: CallerTable
    let headLimits: HeadLimits
    /// An event loop's share of what unfinished heads may hold, in bytes.
    let headMemory: Int
    let callerTimeouts: CallerTimeouts
    /// How long a request may wait for an approval.
    let approvalWait: Duration
    /// The credentials at this moment; each later change arrives as an event.
    var credentials: CredentialTable
    /// `nil` writes no access log.
    let accessLog: LogWriter?

    /// - Parameters:
    ///   - hosts: names and addresses of the listeners, as they stand in a `Host` field.
    ///   - old: the snapshot that this one replaces.
    init(
        _ plan: ProxyConfiguration,
        hosts: [String],
        credentials: CredentialTable,
        accessLog: LogWriter?,
        following old: RoutingSnapshot? = nil
    ) {
        let table = RouteTable(
            plan.routes,
            requiresApproval: { [approval = plan.approval] in approval?.applies($0) ?? false },
            via: plan.via,
            following: old?.table
        )
        self.table = table
        self.callers = CallerTable(plan.callers, routes: table, hosts: hosts)
        self.headLimits = plan.headLimits
        self.headMemory = plan.headMemory / plan.eventLoops
        self.callerTimeouts = plan.callerTimeouts
        self.approvalWait = plan.approval?.wait ?? .zero
        self.credentials = credentials
        self.accessLog = accessLog
    }
}

/// What the event loops use, or have been told to use. The loops share it with the threads that change it.
final class CurrentSnapshot: Sendable {
    private let current: Mutex<RoutingSnapshot>

    init(_ snapshot: RoutingSnapshot) { self.current = Mutex(snapshot) }

    func withLock<Result>(_ body: (inout RoutingSnapshot) -> Result) -> Result { self.current.withLock { body(&$0) } }

    /// What stands for an account now, for a slot that is made now.
    ///
    /// Each event is applied here first, and then given to the loops. So an event that the slot's loop has behind it is
    /// included, and one that is not included is still to come there. One that is included and still to come is applied
    /// twice, which changes nothing in the end.
    func standing(of account: AccountID) -> CredentialTable.Standing {
        self.withLock { $0.credentials.standing(of: account) }
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
        /// The trust roots for an upstream's certificate can't be read.
        case trustUnreadable
        /// A certificate, its key or a CA certificate can't be read, or certificate and key don't match.
        case certificateUnusable
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Maps the system's error from opening a listener.
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
