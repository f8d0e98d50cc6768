internal import AdminAPI
internal import Foundation
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel

/// The table of requests and roles in the documentation, against the API.
@Suite struct RoleTableTests {
    private static let roles = ["operator", "killer", "viewer", "registrar"]
    private static let tokens = AdminTokens(entries: [
        AdminTokens.Entry(Administrator(name: "olga", role: .operator), Secret("operator-canary")),
        AdminTokens.Entry(Administrator(name: "kim", role: .killer), Secret("killer-canary")),
        AdminTokens.Entry(Administrator(name: "vera", role: .viewer), Secret("viewer-canary")),
        AdminTokens.Entry(
            Administrator(name: "rita", role: .registrar(.name(AccountID("alice")))),
            Secret("registrar-canary")
        ),
    ])

    private struct Row {
        let method: String
        let path: String
        /// Whether each of the roles may, in their order.
        let isPermitted: [Bool]
    }

    /// The rows of the table, such as ``| `GET /v1/lock` | `martlet unlock` | yes | – | – | – |``.
    private static func table() throws -> [Row] {
        let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let page = package.appending(path: "Sources/martlet/Documentation.docc/Configuration.md")
        return try String(contentsOf: page, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimming { $0 == " " } }
            guard cells.count == 6, cells.suffix(4).allSatisfy({ $0 == "yes" || $0 == "–" }) else { return nil }
            let request = cells[0].trimming { $0 == "`" }.split(separator: " ")
            guard request.count == 2 else { return nil }
            return Row(
                method: String(request[0]),
                path: String(request[1]),
                isPermitted: cells.suffix(4).map { $0 == "yes" }
            )
        }
    }

    private static func path(_ template: String) -> String {
        template.replacing("{name}", with: "alice").replacing("{id}", with: "0")
    }

    @Test func `the table has each request of the API once`() async throws {
        try await AdminFixture.run { admin in
            var requests: Set<String> = []
            for path in AdminPath.allCases.map(\.rawValue) {
                let allowed = try await admin.caller.send(.PATCH, Self.path(path)).headers["allow"]
                let methods = allowed.flatMap { $0.split(separator: ", ") }.filter { $0 != "HEAD" }
                requests.formUnion(methods.map { "\($0) \(path)" })
            }
            let rows = try Self.table().map { "\($0.method) \($0.path)" }
            #expect(Set(rows) == requests)
            #expect(Set(rows).count == rows.count)
        }
    }

    @Test(arguments: Array(Self.roles.enumerated().map { ($0.offset, $0.element) }))
    func `a role may do what the table says, and nothing else`(column: Int, role: String) async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            for row in try Self.table() {
                let answer = try await admin.caller.send(
                    HTTPMethod(rawValue: row.method),
                    Self.path(row.path),
                    authorization: "Bearer \(role)-canary"
                )
                #expect((answer.problem != "role_forbidden") == row.isPermitted[column], "\(row.method) \(row.path)")
            }
        }
    }
}

extension Substring {
    /// The text without the characters at its ends that satisfy the condition.
    fileprivate func trimming(while isRemoved: (Character) -> Bool) -> Substring {
        var rest = self.drop(while: isRemoved)
        while let last = rest.last, isRemoved(last) { rest.removeLast() }
        return rest
    }
}
