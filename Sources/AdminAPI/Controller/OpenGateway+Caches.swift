internal import Audit
internal import TokenModel
internal import TokenRefresh

/// The operations on response caches.
extension OpenGateway {
    func cacheVitals() async -> [RouteCacheVitals] { await self.caches.vitals() }

    /// Purges the caches of this process.
    ///
    /// - Throws: ``AdminError/Code/notFound`` for a route without a cache, or an unknown account: a typing error must not
    ///   look like a purge.
    func purge(_ request: CachePurgeRequest, by actor: AuditActor) async throws(AdminError) -> PurgedResponses {
        if let route = request.route {
            let known = await self.caches.vitals().map(\.route)
            guard known.contains(route) else {
                throw AdminError.noSuchCache.suggesting(Suggestion.closest(to: route, among: known))
            }
        }
        if let account = request.account, await !self.engine.mayKnow(account) {
            throw AdminError.noSuchAccount.suggesting(await self.name(like: account))
        }
        return try await self.audited(.purgeCache, of: request.scope, saying: request.rest, by: actor) {
            () async throws(AdminError) in
            await self.caches.purge(route: request.route, account: request.account, path: request.path)
        } detail: { purged in
            "\(purged.entries) responses, \(purged.bytes) bytes"
        }
    }
}
