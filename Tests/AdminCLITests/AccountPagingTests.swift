internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct AccountPagingTests {
    private static func page(_ names: [String], next: String?) throws -> AccountsReply {
        let accounts = names.map { name in
            """
            {"configured":true,"expires_at":null,"generation":1,"name":"\(name)","provider":"acme","scopes":[],"state":"empty"}
            """
        }
        let end = next.map { "\"\($0)\"" } ?? "null"
        let body = #"{"accounts":[\#(accounts.joined(separator: ","))],"next":\#(end)}"#
        return try AdminReply(httpStatus: 200, body: Array(body.utf8)).read()
    }

    @Test(
        arguments: [
            (AccountQuery(), nil, "/v1/accounts"),
            (AccountQuery(prefix: "a@b/c&d"), nil, "/v1/accounts?prefix=a%40b%2Fc%26d"),
            (
                AccountQuery(provider: "acme", states: ["valid", "backing_off"]), nil,
                "/v1/accounts?provider=acme&state=valid,backing_off"
            ),
            (AccountQuery(), 5, "/v1/accounts?limit=5"), (AccountQuery(), 2_500, "/v1/accounts?limit=1000"),
        ] as [(AccountQuery, Int?, String)]
    )
    func `a filter is the query of the first request`(query: AccountQuery, limit: Int?, path: String) {
        #expect(AccountPaging(query, limit: limit).request?.path == path)
    }

    @Test func `pages are asked for until the last one, with the same filter`() throws {
        var paging = AccountPaging(AccountQuery(prefix: "c"))
        #expect(try paging.take(Self.page(["c1", "c2"], next: "c2")).map(\.name) == ["c1", "c2"])
        #expect(paging.request?.path == "/v1/accounts?prefix=c&after=c2")
        // A filter may leave a page empty.
        #expect(try paging.take(Self.page([], next: "c7")).isEmpty)
        #expect(paging.request?.path == "/v1/accounts?prefix=c&after=c7")
        #expect(try paging.take(Self.page(["c8"], next: nil)).map(\.name) == ["c8"])
        #expect(paging.request == nil)
        #expect(!paging.hasMore)
    }

    @Test(arguments: [(2, ["c1", "c2"], true), (3, ["c1", "c2", "c3"], false), (9, ["c1", "c2", "c3"], false)])
    func `a limit holds over all pages, and it is known whether it left accounts out`(
        limit: Int,
        names: [String],
        hasMore: Bool
    ) throws {
        var paging = AccountPaging(AccountQuery(), limit: limit)
        var pages = [try Self.page(["c1", "c2"], next: "c2"), try Self.page(["c3"], next: nil)]
        var listed: [String] = []
        while paging.request != nil { listed += try paging.take(pages.removeFirst()).map(\.name) }
        #expect(listed == names)
        #expect(paging.hasMore == hasMore)
    }

    @Test func `a gateway that ignores the limit gives no more than that either`() throws {
        var paging = AccountPaging(AccountQuery(), limit: 1)
        #expect(try paging.take(Self.page(["c1", "c2"], next: nil)).map(\.name) == ["c1"])
        #expect(paging.request == nil)
        #expect(paging.hasMore)
    }

    @Test(arguments: ["c2", "c1"])
    func `a page that leads back is an error instead of a listing without end`(next: String) throws {
        var paging = AccountPaging(AccountQuery())
        _ = try paging.take(Self.page(["c1", "c2"], next: "c2"))
        let page = try Self.page(["c1", "c2"], next: next)
        #expect(throws: CommandFailure.self) { try paging.take(page) }
    }

    @Test func `an export has a name, a provider, a state and an end, and nothing else`() throws {
        let account = try #require(try Self.page(["c1"], next: nil).accounts.first)
        #expect(try account.exportLine == #"{"account":"c1","expires_at":null,"provider":"acme","state":"empty"}"#)
    }
}
