/// The callers of one table, by each thing that they are known by.
struct Callers: Sendable {
    let names: Set<String>
    /// How long a look-up takes tells nothing of a key: what it may tell of is the digest, and nobody can choose a key by
    /// its digest or come from one to the other.
    private var byKey: [KeyDigest: Caller] = [:]
    private var byCertificate: [(name: CertificateName, caller: Caller)] = []
    private var byPeer: [(rule: PeerRule, caller: Caller)] = []

    /// - Parameter callers: in the configuration's order. Where two are meant by one certificate or process, the first is it.
    init(_ callers: [(plan: CallerPlan, caller: Caller)]) {
        self.names = Set(callers.map(\.plan.name))
        for (plan, caller) in callers {
            for key in plan.keys { self.byKey[key] = caller }
            if let name = plan.certificate { self.byCertificate.append((name, caller)) }
            if let rule = plan.peer { self.byPeer.append((rule, caller)) }
        }
    }

    /// Whether a certificate means anything.
    var knowsCertificates: Bool { !self.byCertificate.isEmpty }

    subscript(key: KeyDigest) -> Caller? { self.byKey[key] }

    /// Who is known by what a connection itself says; asked once per connection.
    func caller(of certificate: ClientCertificate?, _ peer: PeerIdentity?) -> Caller? {
        if let certificate { return self.byCertificate.first { certificate.names.contains($0.name) }?.caller }
        return peer.flatMap { peer in self.byPeer.first { $0.rule.covers(peer) }?.caller }
    }
}
