internal import NIOHTTP1
internal import Testing

/// An operator's browser at the dashboard, as far as a server sees one.
struct Browser: Sendable {
    let caller: AdminCaller
    /// `NAME=ID`, as `Cookie` has it; `nil` where nobody has signed in.
    var cookie: String?
    /// What the page sends itself.
    var key: String?
    /// What the browser adds, with what a test has it say instead.
    var origin: String?
    var site: String? = "same-origin"
    var host: String?

    private struct Session: Decodable { let key: String }

    init(_ admin: AdminFixture) {
        self.caller = admin.caller
        self.origin = admin.caller.base
    }

    /// - Returns: the answer; the browser keeps what a right token brings.
    @discardableResult
    mutating func signIn(_ token: String = AdminFixture.adminToken) async throws -> AdminCaller.Answer {
        let answer = try await self.send(.POST, "/session", "token=\(token)")
        guard answer.status == 200 else { return answer }
        self.key = try answer.read(Session.self).key
        let set = try #require(answer.headers.first(name: "set-cookie"))
        self.cookie = set.split(separator: ";").first.map(String.init)
        return answer
    }

    @discardableResult
    func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> AdminCaller.Answer {
        var fields: HTTPHeaders = [:]
        if let cookie { fields.add(name: "cookie", value: cookie) }
        if let key { fields.add(name: "martlet-session", value: key) }
        if let origin, method != .GET, method != .HEAD { fields.add(name: "origin", value: origin) }
        if let site { fields.add(name: "sec-fetch-site", value: site) }
        if let host { fields.add(name: "host", value: host) }
        return try await self.caller.send(method, path, fields: fields, bytes: body.map { Array($0.utf8) })
    }
}
