import Testing
import TokenModel
import TokenStorage

@Suite struct JournalEntryTests {
    private static let success = AccountRecord.sample(grant: "g", generation: 5)

    @Test func `an entry is decoded as it was encoded`() throws {
        let entry = JournalEntry(account: AccountID("alice"), record: Self.success)

        #expect(try JournalEntry(decoding: entry.encoded()) == entry)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let stored: AccountRecord?
        let isOwed: Bool

        var testDescription: String { self.name }
    }

    static let cases = [
        Case(name: "what was spent", stored: .sample(grant: "g", generation: 4), isOwed: true),
        Case(
            name: "an older generation, by a restored backup",
            stored: .sample(grant: "g", generation: 2),
            isOwed: true
        ),
        Case(name: "nothing: the store has lost it", stored: nil, isOwed: true),
        Case(name: "the success itself", stored: Self.success, isOwed: false),
        Case(name: "the same generation, of another", stored: .sample(grant: "g", generation: 5), isOwed: false),
        Case(name: "a later generation", stored: .sample(grant: "g", generation: 6), isOwed: false),
        Case(name: "another grant", stored: .sample(grant: "h", generation: 4), isOwed: false),
        Case(name: "forgotten", stored: .sample(grant: "h", generation: 0), isOwed: false),
    ]

    @Test(arguments: cases)
    func `I2_a success is owed to its grant until the store has that generation or a later one`(of what: Case) {
        let entry = JournalEntry(account: AccountID("alice"), record: Self.success)

        #expect(entry.isOwed(to: what.stored) == what.isOwed)
    }
}
