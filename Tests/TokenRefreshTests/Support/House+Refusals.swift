import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

extension House {
    /// Runs a replica whose valid token an upstream has answered 401 to, while the refresh that this has led to waits for
    /// the provider's answer.
    ///
    /// - Parameter body: given the one who was refused, too.
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
