import HTTPCaching
import HTTPWire
import Testing

@Suite struct InvalidationTests {
    /// RFC 9111 §4.4.
    static let methods: [(String, Bool)] = [
        ("GET /a", false), ("HEAD /a", false), ("OPTIONS /a", false), ("POST /a", true), ("PUT /a", true),
        ("DELETE /a", true), ("PATCH /a", true), ("QUERY /a", true), ("PURGE /a", true),
    ]

    @Test(arguments: methods)
    func `RFC 9111 §4.4: a method that is not known as safe invalidates`(line: String, invalidates: Bool) throws {
        let request = try Given.request(line)
        #expect(Invalidation.applies(to: request, status: 204) == invalidates)
    }

    @Test(arguments: [(199, false), (200, true), (204, true), (301, true), (399, true), (400, false), (500, false)])
    func `RFC 9111 §4.4: only success and redirection invalidate`(status: Int, invalidates: Bool) throws {
        #expect(Invalidation.applies(to: try Given.request("PUT /a"), status: status) == invalidates)
    }

    @Test func `RFC 9111 §4.4: a GET that an upstream may read as another method invalidates`() throws {
        let request = try Given.request("GET /a", "X-HTTP-Method: DELETE")
        #expect(Invalidation.applies(to: request, status: 200))
    }

    /// RFC 9111 §4.4: a field of the response to `POST /acme/things/1?q`, and the targets that are invalid too.
    static let fields: [(String, [String])] = [
        ("Location: /v2/things/2", ["/acme/things/2"]),
        ("Content-Location: /v2/things/2?x=y", ["/acme/things/2?x=y"]),
        ("Location: /v2/things/2#part", ["/acme/things/2"]),
        ("Location: https://api.example/v2/things/2", ["/acme/things/2"]),
        ("Location: https://API.example:443/v2/things/2", ["/acme/things/2"]),
        ("Location: //api.example/v2/things/2", ["/acme/things/2"]),
        ("Location: http://api.example/v2/things/2", []),
        ("Location: https://api.example:8443/v2/things/2", []),
        ("Location: https://other.example/v2/things/2", []),
        ("Location: /v3/things/2", []),
        ("Location: /v2/../things/2", []),
        ("Location: 2", ["/acme/things/2"]),
        ("Location: 2/parts?x#y", ["/acme/things/2/parts?x"]),
        ("Location: ?y", ["/acme/things/1?y"]),
        ("Location: ../2", []),
        ("Location: ./2", []),
        ("Location: 2/..", []),
        ("Location: mailto:a@b", []),
        ("Location: urn:x/y", []),
        ("Location:", []),
        ("Link: </v2/things/2>", []),
    ]

    @Test(arguments: fields)
    func `RFC 9111 §4.4: the targets that the response names at the same upstream are invalid too`(
        field: String,
        expected: [String]
    ) throws {
        let targets = ResponseTargets(
            scheme: "https",
            authority: "api.example",
            upstreamPath: "/v2/",
            prefix: "/acme/",
            strip: true
        )
        let found = Invalidation.targets(
            of: try Given.response("201 Created", field),
            to: try Given.request("POST /acme/things/1?q"),
            by: targets
        )
        #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
    }
}
