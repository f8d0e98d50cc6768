internal import TokenModel

/// A purge of response caches as an operator orders it: of all that matches each of its parts.
struct CachePurgeRequest: Equatable, Sendable {
    let route: String?
    let account: AccountID?
    /// How the paths of the requests begin, as callers send them. It may go on into the query.
    let path: String?

    private static let fields = ["route", "account", "path"]

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.route = try fields.plainIfPresent("route", longest: 64)
        self.account = try fields.plainIfPresent("account", longest: 256).map { AccountID($0) }
        self.path = try fields.plainIfPresent("path", longest: 1_024)
        try fields.finish(expected: Self.fields)
        if let path, !path.hasPrefix("/") { throw .invalidField("path", "path does not begin with /") }
    }

    /// The scope of the audit record; `nil` if no scope says it.
    var scope: KillScope? {
        if let account { return .account(account) }
        return self.route == nil && self.path == nil ? .all : nil
    }

    /// What the scope does not say, for the audit record; `nil` for nothing. A query is left out, because it may hold a
    /// secret.
    var rest: String? {
        let path = self.path.map { path in
            let end = path.firstIndex(of: "?")
            return "path \(path[..<(end ?? path.endIndex)])" + (end == nil ? "" : " with a query")
        }
        let parts = [self.route.map { "route \($0)" }, path].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension JSONFields {
    /// As ``textIfPresent(_:)``, with another maximum length in characters.
    fileprivate mutating func plainIfPresent(_ name: String, longest: Int) throws(AdminError) -> String? {
        guard let text = try self.secretIfPresent(name) else { return nil }
        return try Self.plain(text, name, longest: longest)
    }
}
