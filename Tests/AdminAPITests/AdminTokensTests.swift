internal import AdminAPI
internal import Testing
internal import TokenModel

@Suite struct AdminTokensTests {
    @Test func `an empty list and empty tokens are refused`() {
        #expect(AdminTokens([]) == nil)
        #expect(AdminTokens([Secret("a"), Secret("")]) == nil)
    }

    @Test func `a token belongs to its administrator wherever it is in the list`() throws {
        let names = ["a", "b", "c"]
        let entries = names.map { AdminTokens.Entry(Administrator(name: $0, role: .killer), Secret("token-\($0)")) }
        let tokens = try #require(AdminTokens(entries: entries))
        #expect(names.map { tokens.administrator(presenting: Secret("token-\($0)"))?.name } == names)
        #expect(tokens.administrator(presenting: Secret("token-d")) == nil)
        #expect(AdminTokens([Secret("abc")])?.administrator(presenting: Secret("abc")) == .unnamed)
        #expect(Administrator.unnamed == Administrator(name: "admin", role: .operator))
    }

    @Test(arguments: ["", "a", "ab", "abcd", "abd", "xyz1", "ABC"])
    func `a token that only resembles a valid one is not contained`(presented: String) throws {
        let tokens = try #require(AdminTokens([Secret("abc"), Secret("xyz")]))
        #expect(!tokens.contain(Secret(presented)))
        #expect(tokens.contain(Secret("abc")))
        #expect(tokens.contain(Secret("xyz")))
    }
}
