internal import TextCoding
internal import TokenModel
internal import TokenRefresh

/// The requested accounts.
struct AccountQuery: Equatable, Sendable {
    private(set) var filter = AccountFilter()
    /// The name to list behind.
    private(set) var after: AccountID?
    private(set) var limit = longest

    static let standard = AccountQuery()
    /// The most accounts of one page.
    static let longest = 1_000

    private init() {}

    /// Reads `prefix=TEXT&provider=NAME&state=STATE,STATE&after=NAME&limit=NUMBER`, each of them at most once.
    init(_ query: String) throws(AdminError) {
        for (name, value) in try QueryParameters.read(query, expected: Self.parameters) {
            switch name {
            case "prefix": self.filter.prefix = value
            case "provider": self.filter.provider = ProviderID(value)
            case "state": self.filter.states = try Self.states(value)
            case "after": self.after = AccountID(value)
            default:
                guard let limit = UInt16(value), (1...Self.longest).contains(Int(limit)), value.first != "+" else {
                    throw .invalidField("limit", "limit is not a number from 1 to \(Self.longest)")
                }
                self.limit = Int(limit)
            }
        }
    }

    private static let parameters = ["prefix", "provider", "state", "after", "limit"]

    private static func states(_ value: String) throws(AdminError) -> Set<AccountStatus.State> {
        let states = value.split(separator: ",", omittingEmptySubsequences: false).map {
            AccountStatus.State(rawValue: String($0))
        }
        guard !states.contains(nil) else {
            let known = AccountStatus.State.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidField("state", "state is no list of these with commas between: \(known)")
        }
        return Set(states.compactMap { $0 })
    }
}

extension ExistingAccounts {
    /// Reads `existing=skip`, `existing=replace` or `existing=fail`.
    init(query: String) throws(AdminError) {
        self = .skip
        for (name, value) in try QueryParameters.read(query, expected: ["existing"]) {
            guard let existing = ExistingAccounts(rawValue: value) else {
                let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidField(name, "\(name) is none of \(known)")
            }
            self = existing
        }
    }
}

/// The parameters of a query.
enum QueryParameters {
    /// Reads `name=value&name=value`, with each of the expected names at most once. Values are percent-encoded (RFC 3986
    /// §2.1) and not empty.
    static func read(
        _ query: String,
        expected: [String]
    ) throws(AdminError) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        for part in query.split(separator: "&", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // An unknown name is not repeated, because it may be anything.
            guard sides.count == 2, let name = expected.first(where: { $0 == sides[0] }) else {
                throw .invalidField("query", "the query has something else than \(expected.joined(separator: ", "))")
            }
            guard !parameters.contains(where: { $0.name == name }) else {
                throw .invalidField(name, "\(name) is there twice")
            }
            let escaped = Array(sides[1].utf8)
            guard let value = PercentCoding.decode(escaped.span, isForm: false), !value.isEmpty else {
                throw .invalidField(name, "\(name) is empty or not percent-encoded")
            }
            parameters.append((name, try JSONFields.plain(Secret(value), name, longest: 256)))
        }
        return parameters
    }
}
