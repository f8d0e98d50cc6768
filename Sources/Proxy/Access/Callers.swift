import Listening

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
    init(_ callers: [(plan: CallerPlan, caller: Caller)]) {
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
