/// The requested records of the audit log.
struct AuditQuery: Equatable, Sendable {
    /// The number of the last record that the client knows.
    private(set) var after: UInt64 = 0
    private(set) var limit = 100

    static let standard = AuditQuery()
    private static let longest = 1_000

    private init() {}

    /// Reads `after=N&limit=N`, each of them at most once.
    init(_ query: String) throws(AdminError) {
        var seen: Set<Substring> = []
        for part in query.split(separator: "&", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, seen.insert(sides[0]).inserted, Self.isNumber(sides[1]) else {
                throw Self.malformed
            }
            switch sides[0] {
            case "after":
                guard let after = UInt64(sides[1]) else { throw Self.malformed }
                self.after = after
            case "limit":
                guard let limit = Int(sides[1]), (1...Self.longest).contains(limit) else { throw Self.malformed }
                self.limit = limit
            default: throw Self.malformed
            }
        }
    }

    /// Whether the text is digits only. The standard library's own parsing accepts a sign as well.
    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static let malformed = AdminError.invalidField(
        "query",
        "the query is not after=NUMBER and limit=NUMBER, with a limit of 1 to \(longest)"
    )
}
