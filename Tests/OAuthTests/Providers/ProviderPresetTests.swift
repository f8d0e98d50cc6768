import OAuth
import Testing

@Suite struct ProviderPresetTests {
    @Test(arguments: ProviderPreset.allCases)
    func `a preset names a token endpoint, or an example issuer for tenants`(preset: ProviderPreset) throws {
        let facts = preset.facts
        #expect((facts.tokenEndpoint == nil) != (facts.issuerExample == nil))
        for address in [facts.tokenEndpoint, facts.revocationEndpoint].compactMap({ $0 }) {
            #expect(try ProviderURL(address).isEncrypted)
        }
        #expect(["client_secret_basic", "client_secret_post"].contains(facts.clientAuthentication))
        #expect(!facts.basis.isEmpty)
        #expect(facts.tokenEndpoint != nil || facts.revocationEndpoint == nil)
    }

    @Test(arguments: ProviderPreset.allCases)
    func `a preset with a token endpoint says where people sign in, and others leave it to the issuer`(
        preset: ProviderPreset
    ) throws {
        let (facts, login) = (preset.facts, preset.facts.login)
        #expect((facts.tokenEndpoint == nil) == (login.authorizationEndpoint == nil))
        #expect(facts.tokenEndpoint != nil || login.deviceAuthorizationEndpoint == nil)
        for address in [login.authorizationEndpoint, login.deviceAuthorizationEndpoint].compactMap({ $0 }) {
            #expect(try ProviderURL(address).isEncrypted)
        }
        #expect(!login.basis.isEmpty)
    }
}
