import TestKit
import Testing
import TokenModel
import TokenStorage

/// Surveys of a store: whether its records open, and what is reported about those that don't.
struct StoreSurveyTests {
    private let store = MemoryTokenStore()
    private let opened: OpenedStore

    init() async throws {
        self.opened = try await OpenedStore.open(
            self.store,
            keys: GivenKeyRing(KeyRing(current: .random()), name: "KEY")
        )
        for name in ["alice", "bob"] {
            _ = try await self.opened.accounts.write(.sample(), for: AccountID(name), expecting: nil)
        }
    }

    @Test func `a store whose records all open has no unreadable records`() async throws {
        var steps: [Int] = []
        let survey = try await self.opened.survey { steps.append($0.records) }
        #expect(survey.records == 3)
        #expect(survey.opened == 3)
        #expect(survey.unreadable == [])
        #expect(survey.byKey == [self.opened.keyRing.current.id: 3])
        #expect(steps == [1, 2, 3])
    }

    @Test(arguments: [
        "a bit flipped", "cut short", "another row's", "an older version's", "empty", "a key of nobody's",
    ])
    func `a row that can't be opened is named and kept, and the others are checked`(damage: String) async throws {
        let key = RecordKey.account("alice")
        let first = try #require(try await self.store.read(key))
        var bytes = first.value.bytes
        switch damage {
        case "a bit flipped": bytes[bytes.count / 2] ^= 1
        case "cut short": bytes.removeLast(5)
        case "another row's": bytes = try #require(try await self.store.read(.account("bob"))).value.bytes
        case "an older version's":
            _ = try await self.opened.accounts.write(.sample(), for: AccountID("alice"), expecting: first.version)
        case "empty": bytes = []
        default: bytes[1] ^= 0xFF
        }
        let current = try #require(try await self.store.read(key)).version
        let damaged = SealedBytes(bytes: bytes)
        try await self.store.write(damaged, at: key, as: current.next, expecting: current)

        let survey = try await self.opened.survey()

        #expect(survey.records == 3)
        #expect(survey.unreadable.map(\.record) == [key])
        #expect(try await self.store.read(key)?.value == damaged)
    }

    @Test func `a survey covers more records than fit in one page`() async throws {
        for number in 0..<1_100 {
            _ = try await self.opened.accounts.write(.sample(), for: AccountID("n\(number)"), expecting: nil)
        }
        #expect(try await self.opened.survey().records == 1_103)
    }
}
