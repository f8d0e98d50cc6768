internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TokenModel

/// Lets go of providers' connections when nobody needs them any more: at the end, or when the configuration was read again
/// and the last refresh has ended that had begun before.
final class EndpointKeeper: Sendable {
    /// Those that were not let go of yet.
    private let kept = Mutex<[ObjectIdentifier: HTTPTokenEndpoint]>([:])
    private let released = AsyncStream<HTTPTokenEndpoint>.makeStream()
    private let added = AsyncStream<HTTPTokenEndpoint>.makeStream()

    /// Sees to `endpoint` from now on.
    ///
    /// - Returns: what is to be used in its place; when the last reference to that is gone, so are the connections.
    func keep(_ endpoint: HTTPTokenEndpoint) -> SharedTokenEndpoint {
        self.kept.withLock { $0[ObjectIdentifier(endpoint)] = endpoint }
        self.added.continuation.yield(endpoint)
        return SharedTokenEndpoint(endpoint, keeper: self)
    }

    fileprivate func release(_ endpoint: HTTPTokenEndpoint) {
        self.released.continuation.yield(endpoint)
    }

    /// Has each new one find its endpoints, so that the status says from the start what can't be revoked, and lets go of those
    /// that nobody needs, as they come; ends after ``shutDown()``.
    func run() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask {
                await withDiscardingTaskGroup { questions in
                    for await endpoint in self.added.stream { questions.addTask { await endpoint.discover() } }
                }
            }
            for await endpoint in self.released.stream {
                await endpoint.shutDown()
                _ = self.kept.withLock { $0.removeValue(forKey: ObjectIdentifier(endpoint)) }
            }
        }
    }

    /// Lets go of all. Exchanges that are under way end without an answer.
    func shutDown() async {
        self.released.continuation.finish()
        self.added.continuation.finish()
        for endpoint in self.kept.withLock({ $0.values }) { await endpoint.shutDown() }
    }
}

/// A provider's endpoint, shared by its accounts and by the refreshes that are under way.
final class SharedTokenEndpoint: Sendable {
    let endpoint: HTTPTokenEndpoint
    private let keeper: EndpointKeeper

    fileprivate init(_ endpoint: HTTPTokenEndpoint, keeper: EndpointKeeper) {
        self.endpoint = endpoint
        self.keeper = keeper
    }

    deinit { self.keeper.release(self.endpoint) }
}

/// A provider that is asked to revoke tokens of one issuer. Whoever asks holds it, so that a reload in the meantime leaves the
/// connections.
struct RevokingTokenEndpoint: TokenEndpoint {
    let shared: SharedTokenEndpoint
    let issuer: TokenIssuer

    private var endpoint: HTTPTokenEndpoint { self.shared.endpoint }
    var binding: EndpointBinding { self.endpoint.binding }
    var timeout: Duration { self.endpoint.timeout }
    var proofCount: Int { self.endpoint.proofOrder.count }
    var revokes: Bool? { self.endpoint.revokes }

    func isClientSecret(_ value: Secret) -> Bool { self.endpoint.isClientSecret(value) }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        await self.endpoint.revoke(token, of: self.issuer, kind: kind)
    }
}
