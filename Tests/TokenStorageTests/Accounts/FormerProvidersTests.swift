import Testing
import TokenModel
import TokenStorage

/// The providers that a grant was bound to before.
@Suite struct FormerProvidersTests {
    private func binding(_ provider: String) -> AccountRecord.Binding {
        AccountRecord.Binding(
            provider: ProviderID(provider),
            issuer: .tokenEndpoint("https://a:443/token"),
            clientID: "c"
        )
    }

    private func record(_ provider: String, grant: String = "g") -> AccountRecord {
        AccountRecord(
            grant: GrantID(grant),
            generation: Generation(1),
            tokens: nil,
            observedEpoch: .start,
            binding: self.binding(provider)
        )
    }

    @Test func `each former provider of a record is remembered once`() {
        var record = self.record("one")
        record.bind(to: self.binding("one"))
        #expect(record.formerProviders == [])
        for provider in ["two", "three", "one", "two"] { record.bind(to: self.binding(provider)) }
        #expect(Set(record.formerProviders.map(\.rawValue)) == ["one", "three"])
        #expect(record.formerProviders.count == 2)
        #expect(Set(record.providers.map(\.rawValue)) == ["one", "two", "three"])
    }

    @Test func `a record keeps the former providers of a record it overwrites, but only within its grant`() {
        var adopted = self.record("one")
        adopted.bind(to: self.binding("two"))
        var late = self.record("one")
        late.keepHistory(of: adopted)
        #expect(late.formerProviders == [ProviderID("two")])
        var other = self.record("one", grant: "other")
        other.keepHistory(of: adopted)
        #expect(other.formerProviders == [])
    }
}
