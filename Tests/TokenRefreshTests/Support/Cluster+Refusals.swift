import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

extension Cluster {
    /// Runs a replica whose valid token got a 401 from an upstream, while the resulting refresh waits for the
    /// provider's response.
    ///
    /// - Parameter body: also gets the pending request of the caller that got the 401.
    func withRefusedToken(
        _ provider: ScriptedTokenEndpoint,
        _ body: (Replica, Asked) async throws -> Void
    ) async throws {
        try await self.put(.valid())
        provider.hold()
        try await self.withReplica(provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let refused = replica.ask(refused: Generation(1))
            try await eventually("the use") { provider.heldCount == 1 }
            try await body(replica, refused)
        }
    }
}
