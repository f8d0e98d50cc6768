import TestKit
import Testing
import TokenModel
import TokenStorage

extension MirrorTiming {
    /// Short times, so that a test sees a mirror fall behind and be caught up. The caller's patience is long, because a
    /// busy machine is not the mirror's fault.
    static var short: MirrorTiming {
        var timing = MirrorTiming()
        timing.patience = .seconds(60)
        timing.settling = .milliseconds(300)
        timing.secondLook = .milliseconds(600)
        timing.period = .seconds(1)
        timing.refresh = .milliseconds(100)
        timing.shortestPause = .milliseconds(20)
        timing.longestPause = .milliseconds(200)
        return timing
    }
}

/// Runs `body` while the work of `stores` on their mirrors is going.
func whileRunning<Value: Sendable>(
    _ stores: [MirroringTokenStore],
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        for store in stores {
            group.addTask {
                await store.run()
                return nil
            }
        }
        group.addTask { try await body() }
        defer { group.cancelAll() }
        while let ended = try await group.next() {
            if let ended { return ended }
        }
        throw CancellationError()
    }
}

extension MirroringTokenStore {
    /// Waits until every mirror is up to date.
    func upToDate() async throws {
        try await eventually("the mirrors to be up to date") { self.states.allSatisfy { $0.phase == .upToDate } }
    }

    /// Waits until a mirror is behind.
    func behind() async throws {
        try await eventually("a mirror to be behind") {
            self.states.contains { if case .behind = $0.phase { true } else { false } }
        }
    }
}

/// The keys at which a mirror differs from its primary.
func differences(_ mirror: any TokenStore, from primary: any TokenStore) async throws -> [RecordKey] {
    var keys: [RecordKey] = []
    let comparison = RecordComparison(of: mirror, with: primary)
    try await comparison.forEachDifference(under: .all, leavingOut: \.staysInItsStore) { keys.append($0.key) }
    return keys
}

/// Waits until a mirror has the records of its primary.
func equal(_ mirror: any TokenStore, _ primary: any TokenStore) async throws {
    try await eventually("the mirror to equal the primary") {
        try await differences(mirror, from: primary).isEmpty
    }
}
