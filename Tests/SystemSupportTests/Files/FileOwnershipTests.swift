import SystemSupport
import Testing

@Suite struct FileOwnershipTests {
    @Test(arguments: [
        (owner: 501, mode: 0o755, isKept: true),
        (owner: 501, mode: 0o700, isKept: true),
        (owner: 0, mode: 0o755, isKept: true),
        (owner: 0, mode: 0o1777, isKept: true),
        (owner: 501, mode: 0o1770, isKept: true),
        (owner: 501, mode: 0o775, isKept: false),
        (owner: 501, mode: 0o702, isKept: false),
        (owner: 0, mode: 0o2775, isKept: false),
        // The owner of a directory can change anything in it.
        (owner: 502, mode: 0o755, isKept: false),
        (owner: 502, mode: 0o1777, isKept: false),
    ])
    func `a directory keeps a user's files if no other user except root can change its names`(
        owner: UInt32,
        mode: UInt32,
        isKept: Bool
    ) {
        let ownership = FileOwnership(owner: owner, mode: mode, isRegular: false)
        #expect(ownership.isKeptByOwner(from: 501) == isKept)
    }
}
