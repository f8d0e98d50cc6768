internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TokenModel

/// Closes providers' connections when they are no longer needed: at the end of the process, or after a reload, when the
/// last refresh that began before it has ended.
final class EndpointKeeper: Sendable {
    /// The endpoints that are still open.
    private let kept = Mutex<[ObjectIdentifier: HTTPTokenEndpoint]>([:])
    private let released = AsyncStream<HTTPTokenEndpoint>.makeStream()
    private let added = AsyncStream<HTTPTokenEndpoint>.makeStream()

    /// Manages `endpoint` from now on.
    ///
    /// - Returns: the object to use in its place. When the last reference to it is released, the connections are
    ///   closed.
    func keep(_ endpoint: HTTPTokenEndpoint) -> SharedTokenEndpoint {
        self.kept.withLock { $0[ObjectIdentifier(endpoint)] = endpoint }
        self.added.continuation.yield(endpoint)
        return SharedTokenEndpoint(endpoint, keeper: self)
    }

    fileprivate func release(_ endpoint: HTTPTokenEndpoint) {
        self.released.continuation.yield(endpoint)
    }

    /// Lets each new endpoint discover its metadata, so that the status shows from the start which tokens can't be
    /// revoked. Closes released endpoints. Ends after ``shutDown()``.
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

    /// Closes all endpoints. Exchanges in progress end without a response.
    func shutDown() async {
        self.released.continuation.finish()
        self.added.continuation.finish()
        for endpoint in self.kept.withLock({ $0.values }) { await endpoint.shutDown() }
    }
}

/// A provider's endpoint, shared by its accounts and by the refreshes in progress.
final class SharedTokenEndpoint: Sendable {
    let endpoint: HTTPTokenEndpoint
    private let keeper: EndpointKeeper

    fileprivate init(_ endpoint: HTTPTokenEndpoint, keeper: EndpointKeeper) {
        self.endpoint = endpoint
        self.keeper = keeper
    }

    deinit { self.keeper.release(self.endpoint) }
}

/// A provider endpoint that only revokes tokens, all from one issuer. It retains the shared endpoint, so that a reload
/// doesn't close the connections in the meantime.
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
