package import HTTPWire
import NIOCore
import SystemSupport
package import TokenModel

/// Who may use the gateway, by what authenticates them. A class, for the same reason as ``Gateway``.
package final class CallerTable: Sendable {
    /// `nil` where the configuration names no callers.
    private let callers: Callers?
    private let anyone: Caller
    private let webPages: WebPageRule
    private let configGeneration: ConfigGeneration

    /// The identity of one table. It tells the table's callers from those of the table that it replaced.
    final class ConfigGeneration: Sendable {}

    /// - Parameters:
    ///   - plans: `nil` for a gateway that anyone who can connect may use, except web pages.
    ///   - table: the routes that callers may use.
    ///   - hosts: names and addresses of the listeners, as they stand in a `Host` field.
    package init(_ plans: [CallerConfiguration]?, routes table: RouteTable, hosts: [String] = []) {
        let configGeneration = ConfigGeneration()
        self.configGeneration = configGeneration
        self.anyone = Caller(of: configGeneration)
        self.callers = plans.map { plans in Callers(plans.map { ($0, Caller($0, for: table, of: configGeneration)) }) }
        self.webPages = WebPageRule(hosts: table.routes.compactMap(\.plan.host) + hosts)
    }

    /// Authenticates the sender of a request: by the connection's certificate, if any caller is configured with one; by
    /// the request's key; or, if the request has no key, by the process that has connected over a Unix socket. The
    /// first proof present decides, valid or not: nobody may try two.
    ///
    /// - Parameter unverified: the connection of the request; it remembers who authenticated on it.
    /// - Throws: ``GatewayError/Code/callerUnknown``, or ``GatewayError/Code/callerForbidden`` for a web page.
    package func authenticate(
        _ request: RequestHead,
        _ unverified: inout UnverifiedCaller
    ) throws(GatewayError) -> Caller {
        guard let callers = self.callers else {
            if !unverified.isOnUnixSocket, let refusal = self.webPages.refusal(of: request) { throw refusal }
            return self.anyone
        }
        if callers.knowsCertificates, unverified.certificate != nil {
            guard let caller = unverified.caller(of: self.configGeneration, by: callers) else {
                throw GatewayError(.callerUnknown, "the client certificate matches no caller")
            }
            // A browser presents a certificate by itself, whichever page sends the request. The host needs no check:
            // with a host name other than the listener's own, the page's handshake would have failed.
            if let refusal = WebPageRule.markedRefusal(of: request) { throw refusal }
            return caller
        }
        let bytes = request.bytes.readableBytesUInt8Span
        guard let key = PresentedKey(request.fields, in: bytes) else {
            if let caller = unverified.caller(of: self.configGeneration, by: callers) { return caller }
            throw GatewayError(.callerUnknown, "missing caller key")
        }
        if let caller = unverified.caller(of: self.configGeneration, presenting: key, in: bytes) { return caller }
        guard let digest = key.digest(in: bytes), let caller = callers[digest] else {
            throw GatewayError(.callerUnknown, "unknown caller key")
        }
        unverified.remember(caller, presenting: key, of: digest, in: bytes)
        return caller
    }

    /// The sender of a connection's last request, according to this table; `nil` if the table has nobody with that
    /// proof.
    func sender(of unverified: UnverifiedCaller) -> Caller? {
        guard let callers = self.callers else { return self.anyone }
        return unverified.sender(among: callers)
    }
}

/// The callers of one table, by each proof that identifies them. A class, since each request retains it.
final class Callers: Sendable {
    /// The duration of a lookup tells nothing about a key. It may tell something about the digest, but nobody can
    /// choose a key by its digest or derive one from the other.
    private let byKey: [KeyDigest: Caller]
    private let byCertificate: [(name: CertificateName, caller: Caller)]
    private let byPeer: [(rule: PeerRule, caller: Caller)]
    /// Whether any caller is known by a certificate.
    let knowsCertificates: Bool

    /// - Parameter callers: in the configuration's order. If one certificate or process matches two callers, the first
    ///   one counts.
    init(_ callers: [(plan: CallerConfiguration, caller: Caller)]) {
        self.byKey = callers.reduce(into: [:]) { found, entry in
            for key in entry.plan.keys { found[key] = entry.caller }
        }
        self.byCertificate = callers.compactMap { plan, caller in plan.certificate.map { ($0, caller) } }
        self.byPeer = callers.compactMap { plan, caller in plan.peer.map { ($0, caller) } }
        self.knowsCertificates = !self.byCertificate.isEmpty
    }

    subscript(key: KeyDigest) -> Caller? { self.byKey[key] }

    /// The caller that the connection itself identifies; asked once per connection.
    func caller(of certificate: ClientCertificate?, _ peer: PeerIdentity?) -> Caller? {
        if let certificate { return self.byCertificate.first { certificate.names.contains($0.name) }?.caller }
        return peer.flatMap { peer in self.byPeer.first { $0.rule.covers(peer) }?.caller }
    }
}

/// One configured caller: how it authenticates, and what it may use.
package struct CallerConfiguration: Sendable {
    package var name: String
    /// Digests of the keys that are accepted.
    package var keys: [KeyDigest]
    /// The name in a certificate that identifies the caller; `nil`: no certificate does.
    package var certificate: CertificateName?
    /// The process that identifies the caller over a Unix socket, if its requests have no key; `nil`: it needs a key.
    package var peer: PeerRule?
    /// Names of the routes that it may use; `nil` for all.
    package var routes: [String]?
    /// Accounts that it may use; `nil` for all.
    package var accounts: [AccountPattern]?
    /// Methods that it may use, as they stand in a request; `nil` for all. `GET` does not include `HEAD`.
    package var methods: [String]?

    package init(
        name: String,
        keys: [KeyDigest] = [],
        certificate: CertificateName? = nil,
        peer: PeerRule? = nil,
        routes: [String]? = nil,
        accounts: [AccountPattern]? = nil,
        methods: [String]? = nil
    ) {
        self.name = name
        self.keys = keys
        self.certificate = certificate
        self.peer = peer
        self.routes = routes
        self.accounts = accounts
        self.methods = methods
    }
}
