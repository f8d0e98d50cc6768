/// The requested page of the tokens that a kill took away.
struct KilledTokensQuery: Equatable, Sendable {
    /// The cursor of the page before; `nil`: the first page.
    private(set) var after: String?
    private(set) var limit = longest

    static let standard = KilledTokensQuery()
    /// The most tokens of one page.
    static let longest = 1_000

    private init() {}

    /// Reads `after=CURSOR&limit=NUMBER`, each of them at most once.
    init(_ query: String) throws(AdminError) {
        for (name, value) in try QueryParameters.read(query, expected: ["after", "limit"]) {
            if name == "after" {
                guard Self.isCursor(value) else { throw .invalidField(name, "after is no next of a page before") }
                self.after = value
            } else {
                guard let limit = UInt16(value), (1...Self.longest).contains(Int(limit)), value.first != "+" else {
                    throw .invalidField(name, "limit is not a number from 1 to \(Self.longest)")
                }
                self.limit = Int(limit)
            }
        }
    }

    /// Whether the text can be the key of a token: letters, digits, and `/` `~` `.` `-` `_`.
    private static func isCursor(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D...0x2F, 0x5F, 0x7E: true
            default: false
            }
        }
    }
}
