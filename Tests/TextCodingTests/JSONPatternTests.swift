import Testing
import TextCoding

@Suite struct JSONPatternTests {
    private static let slack = JSONPattern.object(["ok": .flag(false), "error": .text("token_expired")])

    @Test(arguments: [
        (#"{"ok":false,"error":"token_expired"}"#, true),
        (#" { "error" : "token_expired" , "warning": [1, {"ok": true}], "ok" : false } "#, true),
        (#"{"ok":false,"error":"token\u005fexpired"}"#, true),
        (#"{"ok":true,"error":"token_expired"}"#, false),
        (#"{"ok":"false","error":"token_expired"}"#, false),
        (#"{"ok":false,"error":"Token_expired"}"#, false),
        (#"{"ok":false,"error":null}"#, false),
        (#"{"ok":false}"#, false),
        (#"{"data":{"ok":false,"error":"token_expired"}}"#, false),
        (#"[{"ok":false,"error":"token_expired"}]"#, false),
        (#"{"ok":false,"ok":true,"error":"token_expired"}"#, false),
        (#"{"ok":true,"ok":false,"error":"token_expired"}"#, true),
        (#"{"ok":false,"error":"token_expired"} x"#, false),
        (#"{"ok":false,"error":"token_expired""#, false),
        (#"{"ok":false,"error":"token_expired","x":01}"#, false),
        (#"{ok:false,"error":"token_expired"}"#, false),
        ("", false), ("{}", false), ("null", false),
    ])
    func `an object matches if it has the named members, whatever else it has`(text: String, isMatch: Bool) {
        #expect(Self.slack.matches(Array(text.utf8).span) == isMatch)
    }

    @Test(
        arguments: [
            (.number(190), #"{"error":{"code":190,"type":"OAuthException"}}"#, true),
            (.number(190), #"{"error":{"code":1.9e2}}"#, true),
            (.number(190), #"{"error":{"code":"190"}}"#, false),
            (.number(190), #"{"error":{"code":191}}"#, false),
            (.number(-1), #"{"error":{"code":-1}}"#, true),
            (.null, #"{"error":{"code":null}}"#, true),
            (.null, #"{"error":{}}"#, false),
            (.null, #"{"error":{"code":0}}"#, false),
            (.null, #"{"error":{"code":false}}"#, false),
            (.flag(true), #"{"error":{"code":true}}"#, true),
            (.flag(true), #"{"error":{"code":false}}"#, false),
            (.text("é\"\n"), #"{"error":{"code":"\u00e9\"\n"}}"#, true),
            (.text("x"), #"{"error":[{"code":"x"}]}"#, false),
        ] as [(JSONPattern, String, Bool)]
    )
    func `patterns can be nested, and values have one type`(code: JSONPattern, text: String, isMatch: Bool) {
        let pattern = JSONPattern.object(["error": .object(["code": code])])
        #expect(pattern.matches(Array(text.utf8).span) == isMatch)
    }

    @Test(arguments: [16, 17, 100_000])
    func `nesting depth is limited inside and outside the named members`(depth: Int) {
        let nested = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
        let isMatch = JSONPattern.object(["ok": .flag(false)]).matches(Array(#"{"ok":false,"x":\#(nested)}"#.utf8).span)
        #expect(isMatch == (depth <= JSONScanner.deepest))
        let objects = String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        let pattern = (1...depth.clamped).reduce(JSONPattern.number(1)) { inner, _ in .object(["a": inner]) }
        #expect(pattern.matches(Array(objects.utf8).span) == (depth <= JSONScanner.deepest))
    }
}

extension Int {
    /// Limits the depth of a pattern, which is limited like that of the input.
    fileprivate var clamped: Int { Swift.min(self, 20) }
}
