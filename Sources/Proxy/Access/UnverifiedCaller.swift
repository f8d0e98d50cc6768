import HTTPWire
package import SystemSupport
import TokenModel

/// The peer of one connection before it is authenticated: how it has connected, and the key that it last authenticated
/// with.
///
/// A client sends the same key with each request of a connection, so only the first key is hashed. Later keys are
/// compared with it in constant time: several clients may share one connection (a proxy's pool), and the response time
/// must not tell one of them about another's key. Only a valid key is remembered, so a wrong one is never cheaper to
/// try.
package struct UnverifiedCaller {
    /// In bytes. Longer credentials are hashed each time, so that a connection holds little memory.
    private static let longestRemembered = 512

    private struct Proof {
        let caller: Caller
        let credentials: Secret
        let digest: KeyDigest
        let isOwnField: Bool
    }

    /// Whether it has connected over a Unix socket, where no web page can come from.
    package let isOnUnixSocket: Bool
    /// The user of its process, if it has connected over a Unix socket.
    private let peer: PeerIdentity?
    /// The certificate that the connection has shown; known after the handshake.
    private(set) var certificate: ClientCertificate?
    private var proof: Proof?
    /// The caller by certificate or peer, according to one table; looked up once.
    private var standing: (configGeneration: CallerTable.ConfigGeneration, caller: Caller?)?
    /// The sender of the last request that was judged; `nil` if it was not authenticated.
    private(set) var sender: Caller?
    /// The digest of the key that authenticated the sender; `nil` if the connection itself did.
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

    /// A request has come; its sender is not known yet.
    mutating func begins() {
        self.sender = nil
        self.senderDigest = nil
    }

    mutating func sent(_ caller: Caller) {
        self.sender = caller
    }

    /// The caller that the connection itself identifies, whatever its requests carry.
    ///
    /// - Parameter configGeneration: of the table that asks. What an earlier table has found does not count.
    mutating func caller(of configGeneration: CallerTable.ConfigGeneration, by callers: Callers) -> Caller? {
        if let standing = self.standing, standing.configGeneration === configGeneration { return standing.caller }
        guard self.certificate != nil || self.peer != nil else { return nil }
        let caller = callers.caller(of: self.certificate, self.peer)
        self.standing = (configGeneration, caller)
        return caller
    }

    /// The ``sender`` among `callers`, if its proof still belongs to that caller. For a tunnel, which sends no more
    /// requests that could be authenticated.
    func sender(among callers: Callers) -> Caller? {
        guard let name = self.sender?.name else { return nil }
        let caller =
            self.senderDigest.map { callers[$0] } ?? callers.caller(of: self.certificate, self.peer)
        return caller?.name == name ? caller : nil
    }

    /// The caller that authenticated on this connection with the very same field, if any.
    ///
    /// - Parameter configGeneration: of the table that asks. A proof for an earlier table is forgotten: the key may
    ///   have been removed from the configuration since, or its caller may use other routes now.
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
