internal import Audit
internal import TokenModel
internal import TokenRefresh

/// The operations on response caches.
extension AdminController {
    func cacheVitals() async throws(AdminError) -> [RouteCacheVitals] { await (try self.requireCaches()).vitals() }

    /// Purges the caches of this process.
    ///
    /// - Throws: ``AdminError/Code/notFound`` for a route without a cache, or an unknown account: a typing error must not
    ///   look like a purge.
    func purge(_ request: CachePurgeRequest, by actor: AuditActor) async throws(AdminError) -> PurgedResponses {
        let caches = try self.requireCaches()
        if let route = request.route {
            let known = await caches.vitals().map(\.route)
            guard known.contains(route) else {
                throw AdminError.noSuchCache.suggesting(Suggestion.closest(to: route, among: known))
            }
        }
        if let account = request.account, await !self.engine.mayKnow(account) {
            throw AdminError.noSuchAccount.suggesting(await self.name(like: account))
        }
        return try await self.audited(.purgeCache, of: request.scope, saying: request.rest, by: actor) {
            () async throws(AdminError) in
            await caches.purge(route: request.route, account: request.account, path: request.path)
        } detail: { purged in
            "\(purged.entries) responses, \(purged.bytes) bytes"
        }
    }

    private func requireCaches() throws(AdminError) -> any GatewayCaches {
        guard let caches = self.caches else { throw .noSuchPath }
        return caches
    }
}
