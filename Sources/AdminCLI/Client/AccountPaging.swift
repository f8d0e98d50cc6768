/// Which accounts to list.
package struct AccountQuery: Equatable, Sendable {
    /// The beginning of the names; `nil` for all.
    package var prefix: String?
    package var provider: String?
    /// Empty for all.
    package var states: [String]
    /// The most accounts of one page; `nil` for as many as the gateway gives.
    package var limit: Int?
    /// The name to list behind; `nil` for the first page.
    package var after: String?

    package init(prefix: String? = nil, provider: String? = nil, states: [String] = []) {
        self.prefix = prefix
        self.provider = provider
        self.states = states
    }

    /// The query of the URL with its question mark; empty if nothing is asked for, which an older gateway understands.
    var text: String {
        let parameters: [(name: String, value: String?)] = [
            ("prefix", self.prefix), ("provider", self.provider),
            // Commas separate the states, and no state has one.
            ("state", self.states.isEmpty ? nil : self.states.joined(separator: ",")),
            ("limit", self.limit.map(String.init)), ("after", self.after),
        ]
        let parts = parameters.compactMap { name, value in
            value.map { "\(name)=\(AdminRequest.encoded($0).replacing("%2C", with: ","))" }
        }
        return parts.isEmpty ? "" : "?\(parts.joined(separator: "&"))"
    }
}

/// Asks for accounts page by page.
package struct AccountPaging: Sendable {
    private var query: AccountQuery
    /// How many accounts are still wanted; `nil` for all.
    private var rest: Int?
    private var isDone = false
    /// Whether there are more accounts than were wanted.
    package private(set) var hasMore = false

    /// The most accounts that a gateway gives at once.
    private static let longestPage = 1_000

    /// - Parameter limit: how many accounts to list; `nil` for all.
    package init(_ query: AccountQuery, limit: Int? = nil) {
        self.query = query
        self.rest = limit
        self.query.limit = limit.map { min($0, Self.longestPage) }
    }

    /// The request for the next page; `nil` behind the last one.
    package var request: AdminRequest? { self.isDone ? nil : .accounts(self.query) }

    /// Notes a page.
    ///
    /// - Returns: the accounts of the page that are wanted.
    /// - Throws: ``ProgramExit/unavailable`` for a page that leads nowhere, which would be asked for without end.
    package mutating func take(_ page: AccountsReply) throws(CommandFailure) -> [AccountReply] {
        let wanted = self.rest.map { Array(page.accounts.prefix($0)) } ?? page.accounts
        self.rest = self.rest.map { $0 - wanted.count }
        let isEnough = self.rest == 0
        self.hasMore = isEnough && (page.next != nil || wanted.count < page.accounts.count)
        self.isDone = isEnough || page.next == nil
        if let next = page.next, !self.isDone {
            guard self.query.after.map({ $0 < next }) ?? true else {
                throw CommandFailure(
                    .unavailable,
                    "can't list the accounts: a page of the gateway's answer comes again"
                )
            }
            self.query.after = next
            self.query.limit = self.rest.map { min($0, Self.longestPage) }
        }
        return wanted
    }
}
