internal import AdminAPI
internal import Foundation
internal import NIOHTTP1
internal import Testing

/// The OpenAPI description against the API that serves it. `scripts/verify-api` compares the answers themselves.
@Suite struct APIDescriptionTests {
    /// A path of the description, with the methods of its operations.
    private struct Path {
        let template: String
        let methods: Set<String>
        let operations: [[String: Any]]
    }

    private static let verbs: Set = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

    private static func document(of admin: AdminFixture) async throws -> [String: Any] {
        let answer = try await admin.caller.send(.GET, "/openapi.json")
        #expect(answer.status == 200)
        return try #require(try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any])
    }

    private static func paths(of document: [String: Any]) throws -> [Path] {
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        return paths.map { template, item in
            let verbs = Set(item.keys).intersection(Self.verbs)
            return Path(
                template: template,
                methods: Set(verbs.map { $0.uppercased() }),
                operations: verbs.compactMap { item[$0] as? [String: Any] }
            )
        }
    }

    /// All values of `$ref` anywhere in `value`.
    private static func references(in value: Any) -> [String] {
        switch value {
        case let object as [String: Any]:
            object.flatMap { name, value in
                name == "$ref" ? [value as? String ?? "not a string"] : Self.references(in: value)
            }
        case let array as [Any]: array.flatMap(Self.references)
        default: []
        }
    }

    private static func value(at reference: String, in document: [String: Any]) -> Any? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(document as Any?) { value, name in
            (value as? [String: Any])?[String(name)]
        }
    }

    @Test func `any administrator gets the description, and nobody else`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/openapi.json")
            #expect(answer.headers["content-type"] == ["application/json"])
            #expect(try await Self.document(of: admin)["openapi"] as? String == "3.1.0")

            let refused = try await admin.caller.send(.GET, "/openapi.json", authorization: nil)
            #expect(refused.problem == "admin_unauthorized")
            #expect(try await admin.caller.send(.GET, "/openapi.json?a=1").field == "query")
        }
    }

    @Test func `each path of the API is described, and each described path exists`() async throws {
        try await AdminFixture.run { admin in
            let described = try Self.paths(of: try await Self.document(of: admin)).map(\.template)
            #expect(Set(described) == Set(AdminPath.allCases.map(\.rawValue) + ["/session"]))
        }
    }

    @Test func `given a path of the description, it takes exactly the described methods`() async throws {
        try await AdminFixture.run { admin in
            for path in try Self.paths(of: try await Self.document(of: admin)) {
                let name = path.template.replacing("{name}", with: "alice").replacing("{id}", with: "0")
                let answer = try await admin.caller.send(.PATCH, name)
                #expect(answer.status == 405, "\(path.template)")
                let allowed = answer.headers["allow"].flatMap { $0.split(separator: ", ").map(String.init) }
                let implied: Set<String> = path.methods.contains("GET") ? ["HEAD"] : []
                #expect(Set(allowed) == path.methods.union(implied), "\(path.template)")
            }
        }
    }

    @Test func `every reference of the description leads somewhere, and every component is used`() async throws {
        try await AdminFixture.run { admin in
            let document = try await Self.document(of: admin)
            let references = Set(Self.references(in: document))
            #expect(!references.isEmpty)
            for reference in references { #expect(Self.value(at: reference, in: document) != nil, "\(reference)") }

            let components = try #require(document["components"] as? [String: [String: Any]])
            for (kind, members) in components where kind != "securitySchemes" {
                // No operation answers 405: it is what a path says to the methods that have none.
                for name in members.keys where name != "MethodNotAllowed" {
                    #expect(references.contains("#/components/\(kind)/\(name)"), "\(kind)/\(name)")
                }
            }
        }
    }

    @Test func `each operation has an id of its own, and each link leads to one`() async throws {
        try await AdminFixture.run { admin in
            let document = try await Self.document(of: admin)
            let operations = try Self.paths(of: document).flatMap(\.operations)
            let ids = operations.compactMap { $0["operationId"] as? String }
            #expect(ids.count == operations.count && Set(ids).count == ids.count)
            for operation in operations {
                let responses = try #require(operation["responses"] as? [String: [String: Any]])
                let links = responses["200"]?["links"] as? [String: [String: Any]] ?? [:]
                for link in links.values { #expect(ids.contains(link["operationId"] as? String ?? "")) }
            }
        }
    }

    @Test func `given a role, it gets no further than the description says`() async throws {
        let roles = ["viewer", "killer", "operator"]
        try await AdminFixture.run { admin in
            for operation in try Self.paths(of: try await Self.document(of: admin)).flatMap(\.operations) {
                let role = operation["x-martlet-role"] as? String
                let isOpen = (operation["security"] as? [Any])?.isEmpty == true
                #expect(role.map(roles.contains) ?? isOpen, "\(operation["operationId"] ?? "")")
            }
        }
    }
}
