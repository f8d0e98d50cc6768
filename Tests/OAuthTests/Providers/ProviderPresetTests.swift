import OAuth
import Testing

@Suite struct ProviderPresetTests {
    @Test(arguments: ProviderPreset.allCases)
    func `a preset says where tokens come from, or that each tenant has its own issuer`(preset: ProviderPreset) throws {
        let facts = preset.facts
        #expect((facts.tokenEndpoint == nil) != (facts.issuerExample == nil))
        for address in [facts.tokenEndpoint, facts.revocationEndpoint].compactMap({ $0 }) {
            #expect(try ProviderURL(address).isEncrypted)
        }
        #expect(["client_secret_basic", "client_secret_post"].contains(facts.clientAuthentication))
        #expect(!facts.basis.isEmpty)
        #expect(facts.tokenEndpoint != nil || facts.revocationEndpoint == nil)
    }
}
