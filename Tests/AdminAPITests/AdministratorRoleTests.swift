internal import AdminAPI
internal import Testing
internal import TokenModel

@Suite struct AdministratorRoleTests {
    @Test(arguments: ["operator", "killer", "viewer", "registrar:alice", "registrar:customer-*", "registrar:c*"])
    func `a role is read from its text and written as it was`(text: String) throws {
        #expect(try #require(AdministratorRole(text)).text == text)
    }

    @Test(arguments: [
        "", "Operator", "operator:", "viewer:alice", "registrar", "registrar:", "registrar:*", "registrar:a*b",
        "registrar:-x", "registrar:a b", "registrar:a**", "registrar:a:b", "boss",
    ])
    func `anything else is no role`(text: String) {
        #expect(AdministratorRole(text) == nil)
    }
}
