import HTTPWire
package import Listening
import TokenModel

/// Whoever is at the other end of one connection, before it has proven itself: which door it came by, and the key that
/// it proved itself by last.
///
/// A client sends the same key with each request of a connection, so it is hashed for the first one only. Whether it is
/// the same is compared in constant time: behind one connection there may be several clients (a proxy's pool), and how
/// long an answer takes must not tell one of them about another's key. Only a key that was good is remembered, so a
/// wrong one is never cheaper to try.
package struct UnverifiedCaller {
    /// Longer ones are hashed each time, so that a connection holds little.
    private static let longestRemembered = 512

    private struct Proof {
        let caller: Caller
        let credentials: Secret
        let digest: KeyDigest
        let isOwnField: Bool
    }

    /// It has come over a Unix socket, where no web page can come from.
    package let isOnUnixSocket: Bool
    /// Whose process it is, where it has come over a Unix socket.
    private let peer: PeerIdentity?
    /// What it has shown; known when the handshake is over.
    private(set) var certificate: ClientCertificate?
    private var proof: Proof?
    /// Who it is by certificate or peer, to one table: found once.
    private var standing: (configGeneration: CallerTable.ConfigGeneration, caller: Caller?)?
    /// Who sent the request that was judged last; `nil` where that did not come out.
    private(set) var sender: Caller?
    /// Of the key that proved it; `nil` where the connection itself did.
    private var senderDigest: KeyDigest?

    package init(isOnUnixSocket: Bool, peer: PeerIdentity? = nil, certificate: ClientCertificate? = nil) {
        self.isOnUnixSocket = isOnUnixSocket
        self.peer = peer
        self.certificate = certificate
    }

    /// The handshake is over.
    mutating func showed(_ certificate: ClientCertificate) {
        self.certificate = certificate
        self.standing = nil
    }

    /// A request has come; nobody knows yet who has sent it.
    mutating func begins() {
        self.sender = nil
        self.senderDigest = nil
    }

    mutating func sent(_ caller: Caller) {
        self.sender = caller
    }

    /// Who it is by what the connection itself says, whatever is in its requests.
    ///
    /// - Parameter edition: of the table that asks. What an earlier one has found is nothing to it.
    mutating func caller(of configGeneration: CallerTable.ConfigGeneration, by callers: Callers) -> Caller? {
        if let standing = self.standing, standing.configGeneration === configGeneration { return standing.caller }
        guard self.certificate != nil || self.peer != nil else { return nil }
        let caller = callers.caller(of: self.certificate, self.peer)
        self.standing = (configGeneration, caller)
        return caller
    }

    /// Who ``sender`` is among `callers`, if what it proved itself by is still that caller's: a tunnel sends no request to
    /// be asked for it.
    func sender(among callers: Callers) -> Caller? {
        guard let name = self.sender?.name else { return nil }
        let caller =
            self.senderDigest.map { callers[$0] } ?? callers.caller(of: self.certificate, self.peer)
        return caller?.name == name ? caller : nil
    }

    /// Who proved itself on this connection by the very same field, if anyone did.
    ///
    /// - Parameter edition: of the table that asks. What was proven to an earlier one is forgotten: the key may have been
    ///   taken out of the configuration since, and its caller be let use other routes.
    mutating func caller(
        of configGeneration: CallerTable.ConfigGeneration,
        presenting key: PresentedKey,
        in bytes: Span<UInt8>
    ) -> Caller? {
        guard let proof = self.proof else { return nil }
        guard proof.caller.configGeneration === configGeneration else {
            self.proof = nil
            return nil
        }
        guard proof.isOwnField == key.isOwnField,
            proof.credentials.matches(bytes.extracting(key.value.lower..<key.value.upper))
        else { return nil }
        self.senderDigest = proof.digest
        return proof.caller
    }

    mutating func remember(
        _ caller: Caller,
        presenting key: PresentedKey,
        of digest: KeyDigest,
        in bytes: Span<UInt8>
    ) {
        self.senderDigest = digest
        guard key.value.count <= Self.longestRemembered else { return }
        let credentials = Secret((key.value.lower..<key.value.upper).map { bytes[$0] })
        self.proof = Proof(caller: caller, credentials: credentials, digest: digest, isOwnField: key.isOwnField)
    }
}
