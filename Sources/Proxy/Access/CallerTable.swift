package import HTTPWire
import Listening
import NIOCore
package import TokenModel

/// Who may use the gateway, by what proves it. An object, for the same reason as ``Gateway``.
package final class CallerTable: Sendable {
    /// `nil` where the configuration names no callers.
    private let callers: Callers?
    private let anyone: Caller
    private let webPages: WebPageRule
    private let configGeneration: ConfigGeneration

    /// Tells one table's callers from those of the table that it has taken the place of, by which object it is.
    final class ConfigGeneration: Sendable {}

    /// - Parameters:
    ///   - plans: `nil` for a gateway that anyone may use who can connect, but for web pages.
    ///   - table: the routes that callers are let use.
    ///   - hosts: names and addresses of the listeners, as they stand in a `Host` field.
    package init(_ plans: [CallerConfiguration]?, routes table: RouteTable, hosts: [String] = []) {
        let configGeneration = ConfigGeneration()
        self.configGeneration = configGeneration
        self.anyone = Caller(of: configGeneration)
        self.callers = plans.map { plans in Callers(plans.map { ($0, Caller($0, for: table, of: configGeneration)) }) }
        self.webPages = WebPageRule(hosts: table.plans.compactMap(\.plan.host) + hosts)
    }

    /// Finds out who sends a request: by the certificate that the connection has shown, where any caller is known by one; by
    /// the request's key; or, where it has none, by whose process has connected over a Unix socket. The first that is there
    /// decides, good or not: nobody may try two.
    ///
    /// - Parameter unverified: the connection that it came by; it remembers who proved itself on it.
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
                throw GatewayError(.callerUnknown, "a connection with a certificate that no caller has")
            }
            // A browser shows a certificate by itself, whichever page has it ask. Of another name than the listener's own
            // there is no page: its handshake would have failed.
            if let refusal = WebPageRule.markedRefusal(of: request) { throw refusal }
            return caller
        }
        let bytes = request.bytes.readableBytesUInt8Span
        guard let key = PresentedKey(request.fields, in: bytes) else {
            if let caller = unverified.caller(of: self.configGeneration, by: callers) { return caller }
            throw GatewayError(.callerUnknown, "a request without a key")
        }
        if let caller = unverified.caller(of: self.configGeneration, presenting: key, in: bytes) { return caller }
        guard let digest = key.digest(in: bytes), let caller = callers[digest] else {
            throw GatewayError(.callerUnknown, "a request with a key that no caller has")
        }
        unverified.remember(caller, presenting: key, of: digest, in: bytes)
        return caller
    }

    /// Who has sent a connection's last request, as this table has it; `nil` where it knows nobody by that proof.
    func sender(of unverified: UnverifiedCaller) -> Caller? {
        guard let callers = self.callers else { return self.anyone }
        return unverified.sender(among: callers)
    }
}

/// The callers of one table, by each thing that they are known by. An object, since each request takes hold of it.
final class Callers: Sendable {
    /// How long a look-up takes tells nothing of a key: what it may tell of is the digest, and nobody can choose a key by
    /// its digest or come from one to the other.
    private let byKey: [KeyDigest: Caller]
    private let byCertificate: [(name: CertificateName, caller: Caller)]
    private let byPeer: [(rule: PeerRule, caller: Caller)]
    /// Whether a certificate means anything.
    let knowsCertificates: Bool

    /// - Parameter callers: in the configuration's order. Where two are meant by one certificate or process, the first is it.
    init(_ callers: [(plan: CallerConfiguration, caller: Caller)]) {
        self.byKey = callers.reduce(into: [:]) { found, entry in
            for key in entry.plan.keys { found[key] = entry.caller }
        }
        self.byCertificate = callers.compactMap { plan, caller in plan.certificate.map { ($0, caller) } }
        self.byPeer = callers.compactMap { plan, caller in plan.peer.map { ($0, caller) } }
        self.knowsCertificates = !self.byCertificate.isEmpty
    }

    subscript(key: KeyDigest) -> Caller? { self.byKey[key] }

    /// Who is known by what a connection itself says; asked once per connection.
    func caller(of certificate: ClientCertificate?, _ peer: PeerIdentity?) -> Caller? {
        if let certificate { return self.byCertificate.first { certificate.names.contains($0.name) }?.caller }
        return peer.flatMap { peer in self.byPeer.first { $0.rule.covers(peer) }?.caller }
    }
}

/// One of those who may use the gateway: how it proves itself, and what it may use.
package struct CallerConfiguration: Sendable {
    package var name: String
    /// Of each key that is taken.
    package var keys: [KeyDigest]
    /// By what it is known from its certificate; `nil`: by none.
    package var certificate: CertificateName?
    /// By what it is known over a Unix socket, where its requests have no key; `nil`: it needs one.
    package var peer: PeerRule?
    /// Names of the routes it may use; `nil` for all.
    package var routes: [String]?
    /// Accounts it may use; `nil` for all.
    package var accounts: [AccountID]?
    /// Methods it may use, as they stand in a request; `nil` for all. `GET` does not include `HEAD`.
    package var methods: [String]?

    package init(
        name: String,
        keys: [KeyDigest] = [],
        certificate: CertificateName? = nil,
        peer: PeerRule? = nil,
        routes: [String]? = nil,
        accounts: [AccountID]? = nil,
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
