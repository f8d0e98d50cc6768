import OAuth
import Testing
import TokenModel

@Suite struct TokenGrantTests {
    @Test(arguments: [
        (#","id_token":"e.y.J""#, Secret("e.y.J")), ("", nil), (#","id_token":"""#, nil), (#","id_token":null"#, nil),
        (#","id_token":{}"#, nil), (#","id_token":7"#, nil), (#","id_token":"a","id_token":"b""#, Secret("b")),
    ])
    func `an ID token is kept where it is text, and never costs the grant`(field: String, expected: Secret?) throws {
        let read = try #require(grant(answer(200, #"{"access_token":"A1"\#(field)}"#)))
        #expect(read.idToken == expected)
        #expect(read.accessToken == Secret("A1"))
    }

    @Test(arguments: [
        ("", []), ("read", ["read"]), ("read write", ["read", "write"]), ("read  write ", ["read", "write"]),
        // Slack and GitHub
        ("repo,gist", ["repo", "gist"]), ("repo, gist, user", ["repo", "gist", "user"]),
        (",repo,,gist,", ["repo", "gist"]),
        // A comma within a word, where spaces separate
        ("read a,b", ["read", "a,b"]), ("a,b c,d", ["a,b", "c,d"]), ("a, b c", ["a,", "b", "c"]),
        ("rea\"d write", ["write"]), ("é,read", ["read"]),
    ])
    func `scopes are separated by spaces, or by commas if spaces separate none`(text: String, words: [String]) {
        #expect(ScopeWord.words(of: text) == words)
    }
}
