import Settings
import Testing

/// The rates of token requests and of revocations at a provider.
@Suite struct RequestRateTests {
    @Test func `the default rates are 50 requests a second after a burst of 200`() throws {
        let provider = try settings(of: SampleFile().text).providers.first
        #expect(provider?.refreshRate == RequestRateSettings(perSecond: 50, burst: 200))
        #expect(provider?.revokeRate == RequestRateSettings(perSecond: 50, burst: 200))
    }

    @Test func `revocations have a rate of their own`() throws {
        let settings = try settings(of: SampleFile().provider("revoke_rate: { per_second: 500, burst: 1000 }").text)
        #expect(settings.providers.first?.revokeRate == RequestRateSettings(perSecond: 500, burst: 1_000))
        #expect(settings.providers.first?.refreshRate == RequestRateSettings(perSecond: 50, burst: 200))
    }

    @Test(arguments: [
        ("refresh_rate: { per_second: 400, burst: 800 }", RequestRateSettings(perSecond: 400, burst: 800)),
        ("refresh_rate: { per_second: 1 }", RequestRateSettings(perSecond: 1, burst: 200)),
        ("refresh_rate: {}", RequestRateSettings(perSecond: 50, burst: 200)),
    ])
    func `a provider may have its own rate`(line: String, rate: RequestRateSettings) throws {
        let settings = try settings(of: SampleFile().provider(line).text)
        #expect(settings.providers.first?.refreshRate == rate)
    }

    @Test(arguments: [
        (
            "refresh_rate: { per_second: 0 }",
            "5:33: providers.acme.refresh_rate.per_second: must be between 1 and 100000"
        ),
        ("refresh_rate: { burst: 0 }", "5:28: providers.acme.refresh_rate.burst: must be between 1 and 1000000"),
        (
            "refresh_rate: { burst: 1.5 }",
            "5:28: providers.acme.refresh_rate.burst: expected a whole number, found a number"
        ),
        (
            "revoke_rate: { per_second: 0 }",
            "5:32: providers.acme.revoke_rate.per_second: must be between 1 and 100000"
        ),
        ("refresh_rate: 50", "5:19: providers.acme.refresh_rate: expected a mapping, found a number"),
        (
            "refresh_rate: { per_minute: 5 }",
            #"5:21: providers.acme.refresh_rate.per_minute: unknown key, there are burst, per_second"#
        ),
    ])
    func `an invalid rate is refused`(line: String, fault: String) {
        #expect(faults(of: SampleFile().provider(line).text) == [fault])
    }

    @Test func `the summary names a rate that is not the default`() throws {
        let usual = SettingsSummary(try settings(of: SampleFile().text)).description
        let other = SampleFile().provider("refresh_rate: { per_second: 5, burst: 9 }")
        let summary = SettingsSummary(try settings(of: other.text)).description
        let revoking = SampleFile().provider("revoke_rate: { per_second: 500, burst: 1000 }")
        let revocations = SettingsSummary(try settings(of: revoking.text)).description
        #expect(!usual.contains("a second after a burst"))
        #expect(revocations.contains("without use, revocations at most 500 a second after a burst of 1000"))
        #expect(summary.contains("without use, at most 5 a second after a burst of 9"))
    }
}
