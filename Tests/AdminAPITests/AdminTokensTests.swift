internal import AdminAPI
internal import Testing
internal import TokenModel

@Suite struct AdminTokensTests {
    @Test func `no token and empty tokens let nobody in`() {
        #expect(AdminTokens([]) == nil)
        #expect(AdminTokens([Secret("a"), Secret("")]) == nil)
    }

    @Test(arguments: ["", "a", "ab", "abcd", "abd", "xyz1", "ABC"])
    func `a token that only resembles one is none`(presented: String) throws {
        let tokens = try #require(AdminTokens([Secret("abc"), Secret("xyz")]))
        #expect(!tokens.contain(Secret(presented)))
        #expect(tokens.contain(Secret("abc")))
        #expect(tokens.contain(Secret("xyz")))
    }
}
