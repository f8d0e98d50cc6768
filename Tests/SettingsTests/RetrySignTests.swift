import Settings
import Testing
import TextCoding

@Suite struct RetrySignTests {
    private func signs(_ text: String) throws -> [RetrySign]? {
        try settings(of: SampleFile().route("retry_on: \(text)").text).routes.first?.retryOn
    }

    @Test(arguments: ["", "retry_on: []"])
    func `by default, a route has no retry signs besides the 401`(line: String) throws {
        let file = line.isEmpty ? SampleFile() : SampleFile().route(line)
        #expect(try settings(of: file.text).routes.first?.retryOn == [])
    }

    @Test func `a sign is a status, and optionally members of the JSON response`() throws {
        let signs = try self.signs("[{ status: 200, json: { ok: false, error: token_expired } }, { status: 403 }]")
        try #require(signs?.count == 2)
        #expect(signs?[0].status == 200)
        #expect(signs?[0].json == .object(["ok": .flag(false), "error": .text("token_expired")]))
        #expect(signs?[1].status == 403)
        #expect(signs?[1].json == nil)
    }

    @Test(
        arguments: [
            ("true", .flag(true)), ("190", .number(190)), ("-1.5e2", .number(-150)), ("null", .null), ("", .null),
            ("'190'", .text("190")), ("\"false\"", .text("false")), ("'true'", .text("true")), ("''", .text("")),
            ("yes", .text("yes")),
            ("0190", .text("0190")), ("0x1", .text("0x1")), ("1.", .text("1.")), ("1e999", .text("1e999")),
            ("TRUE", .text("TRUE")),
            ("{ code: 190, 'x y': a }", .object(["code": .number(190), "x y": .text("a")])),
        ] as [(String, JSONPattern)]
    )
    func `values have their JSON type, and quoted values are text`(written: String, value: JSONPattern) throws {
        let signs = try self.signs("[{ status: 400, json: { error: \(written) } }]")
        #expect(signs?.first?.json == .object(["error": value]))
    }

    @Test(arguments: [
        ("{}", "12:15: routes[0].retry_on: expected a list, found a mapping"),
        ("[403]", "12:16: routes[0].retry_on[0]: expected a mapping, found a number"),
        ("[{}]", "12:16: routes[0].retry_on[0]: status is missing"),
        (
            "[{ status: 200 }]",
            "12:26: routes[0].retry_on[0].status: "
                + "is no sign by itself below 400: every such answer would cost a refresh, add json"
        ),
        ("[{ status: 101 }]", "12:26: routes[0].retry_on[0].status: must be between 200 and 599"),
        ("[{ status: 403, body: x }]", "12:31: routes[0].retry_on[0].body: unknown key, there are status, json"),
        ("[{ status: 403, json: x }]", "12:37: routes[0].retry_on[0].json: expected a mapping, found text"),
        (
            "[{ status: 403, json: {} }]",
            "12:37: routes[0].retry_on[0].json: is empty: "
                + "name a member that tells of a dead token, such as { error: expired }"
        ),
        (
            "[{ status: 403, json: { a: {} } }]",
            "12:42: routes[0].retry_on[0].json.a: is empty: "
                + "name a member that tells of a dead token, such as { error: expired }"
        ),
        (
            "[{ status: 403, json: { a: [1] } }]",
            "12:42: routes[0].retry_on[0].json.a: "
                + "expected text, a number, true, false, null or a mapping, found a list"
        ),
        ("[{ status: 403 }, { status: 403 }]", "12:33: routes[0].retry_on[1]: says the same as retry_on[0]"),
    ])
    func `an invalid sign is refused`(text: String, fault: String) {
        #expect(faults(of: SampleFile().route("retry_on: \(text)").text) == [fault])
    }

    @Test func `all faults in signs are reported at once`() {
        let text = "[{ status: 99, json: { a: [], b: [] } }, { json: {} }]"
        #expect(faults(of: SampleFile().route("retry_on: \(text)").text).count == 5)
    }

    @Test func `a repeated sign is reported with the first sign that says the same`() {
        let text = "[{ status: 403 }, { status: 404 }, { status: 403 }, { status: 403 }]"
        let found = faults(of: SampleFile().route("retry_on: \(text)").text)
        #expect(found.count == 2)
        #expect(found.allSatisfy { $0.hasSuffix(": says the same as retry_on[0]") })
    }

    @Test func `a route has at most 16 signs, nested at most 16 levels deep`() {
        let many = (400...416).map { "{ status: \($0) }" }.joined(separator: ", ")
        #expect(
            faults(of: SampleFile().route("retry_on: [\(many)]").text) == [
                "12:15: routes[0].retry_on: has more than 16 members"
            ]
        )
        for depth in [16, 17] {
            let json = String(repeating: "{ a: ", count: depth) + "1" + String(repeating: " }", count: depth)
            let faults = faults(of: SampleFile().route("retry_on: [{ status: 403, json: \(json) }]").text)
            #expect(faults.count == depth - 16)
        }
    }

    @Test func `the summary names the signs`() throws {
        let text = "[{ status: 200, json: { ok: false } }, { status: 403 }]"
        let summary = SettingsSummary(try settings(of: SampleFile().route("retry_on: \(text)").text)).description
        #expect(summary.contains("a token is dead at 200 with JSON or 403 too,"))
    }
}
