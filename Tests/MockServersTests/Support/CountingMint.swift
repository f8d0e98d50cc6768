import MockServers
import Synchronization

/// Issues predictable tokens: `at1`, `mrt1`, `at2`, …
final class CountingMint: TokenMint {
    private let counts = Mutex<[String: Int]>([:])

    func accessToken(for claims: AccessClaims) throws(GrantRefusal) -> String { self.opaqueToken("at") }

    func opaqueToken(_ prefix: String) -> String {
        self.counts.withLock { counts in
            counts[prefix, default: 0] += 1
            return "\(prefix)\(counts[prefix, default: 0])"
        }
    }
}
