import Audit
import TestKit
import Testing
import TokenModel
import TokenStorage

/// One audit log, written by several processes in seeded schedules (`MARTLET_SCHEDULES`). The store has every fault
/// that a store shared by several hosts may have, except the loss of acknowledged writes.
@Suite struct AuditScheduleTests {
    private static let keyRing = KeyRing(current: .random())

    private static func entry(_ number: Int) -> AuditEntry {
        AuditEntry(
            .revive,
            by: .admin(at: "127.0.0.1:1"),
            in: "a",
            incarnation: IncarnationID(rawValue: "b"),
            of: .all,
            reason: "\(number)",
            at: WallTime(millisecondsSince1970: 0)
        )
    }

    private static func faults(_ chance: Chance) -> @Sendable (FaultyTokenStore.Call) -> FaultyTokenStore.Fault {
        { call in
            guard chance.hasFaults, chance.happens(0.3) else { return .none }
            switch call.operation {
            case .read, .records: return chance.happens(0.2) ? .away : .stale(commits: 1 + chance.number(below: 5))
            case .write, .remove:
                return [.away, .unanswered, .late(calls: chance.number(below: 12)), .full][chance.number(below: 4)]
            }
        }
    }

    /// The violations in a log to which three processes have written 20 entries. Each entry was retried until it was
    /// acknowledged.
    ///
    /// - Parameter knowsAgain: whether an entry keeps its id when it is retried.
    private static func violations(seed: UInt64, knowsAgain: Bool = true) async throws -> [String] {
        let chance = Chance(seed: seed)
        let store = FaultyTokenStore(StoreGuarantees(reach: .network))
        let records = SealedRecords(store: store, keyRing: Self.keyRing, storeID: StoreID(rawValue: "store"))
        let logs = (0..<3).map { _ in
            let connection = store.connect()
            connection.fail(by: Self.faults(chance))
            return AuditLog(SealedRecords(store: connection, keys: records.keys, storeID: records.storeID))
        }
        var (told, violations): ([String: UInt64], [String]) = ([:], [])
        for number in 0..<20 {
            let (log, entry) = (logs[chance.number(below: 3)], Self.entry(number))
            var tries = 0
            while told["\(number)"] == nil {
                tries += 1
                // No store fails forever.
                chance.hasFaults = tries < 20
                let again = knowsAgain ? entry : Self.entry(number)
                do throws(StoreError) {
                    told["\(number)"] = try await log.append(again, isTriedAgain: knowsAgain).number
                } catch {
                    guard [.unreachable, .unwritable, .conflict].contains(error.code) else { throw error }
                }
            }
            chance.hasFaults = true
        }
        store.landLateWrites()
        var chain = AuditChain()
        var found: [String: [UInt64]] = [:]
        for item in try await AuditLog(records).items(after: 0, limit: 1_000) {
            chain.take(item)
            if case .record(let record) = item { found[record.reason ?? "", default: []].append(record.number) }
        }
        if let fault = chain.firstFault { violations.append("the chain breaks: \(fault)") }
        for (reason, number) in told where found[reason] != [number] {
            violations.append("entry \(reason) was told to be \(number) and stands at \(found[reason] ?? [])")
        }
        return violations
    }

    @Test func `an acknowledged entry is stored once, at its number, in one chain`() async throws {
        for seed in Schedules.seeds(or: 25) {
            let violations = try await Self.violations(seed: seed)
            #expect(violations == [], "seed \(seed)")
        }
    }

    @Test func `if retried entries get a new id, some schedule writes an entry twice`() async throws {
        var (seed, violations): (UInt64, [String]) = (0, [])
        while violations.isEmpty, seed < 1_000 {
            violations = try await Self.violations(seed: seed, knowsAgain: false)
            seed += 1
        }
        #expect(violations.contains { $0.contains("stands at [") })
    }
}
