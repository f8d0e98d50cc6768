import OAuth
import Testing
import TokenModel

@Suite struct TokenLifetimeTests {
    @Test(arguments: [
        ("3600", Duration.seconds(3600)), (#""3600""#, .seconds(3600)), (#""28800.0""#, .seconds(28_800)),
        ("1", .seconds(1)), ("0.001", .seconds(1)), ("1.5", .milliseconds(1500)), ("3.6e3", .seconds(3600)),
        ("86400", .seconds(86_400)), ("86401", .seconds(86_400)), ("1e18", .seconds(86_400)),
        ("1e999", .seconds(86_400)), (#""1000000000000000000""#, .seconds(86_400)),
        // Unusable values give the configured default.
        ("0", .seconds(1200)), ("-1", .seconds(1200)), ("-1e999", .seconds(1200)), ("null", .seconds(1200)),
        ("true", .seconds(1200)), ("[3600]", .seconds(1200)), (#""""#, .seconds(1200)), (#"" 60""#, .seconds(1200)),
        (#""an hour""#, .seconds(1200)), (#""inf""#, .seconds(1200)), (#""0x10""#, .seconds(1200)),
    ])
    func `expires_in is parsed or clamped`(written: String, lifetime: Duration) {
        let rules = ResponseRules(defaultLifetime: .seconds(1200))
        let outcome = answer(200, #"{"access_token":"A","expires_in":\#(written)}"#)
        #expect(grant(outcome, rules: rules)?.lifetime == lifetime)
    }

    @Test func `expires_in of a form is parsed`() {
        let outcome = answer(200, "access_token=A&expires_in=28800", type: "text/plain")
        #expect(grant(outcome)?.lifetime == .seconds(28_800))
    }

    @Test func `without expires_in a token that is a JWT says when it ends`() {
        // {"exp":1795093200}: an hour after noon
        #expect(
            grant(answer(200, #"{"access_token":"e30.eyJleHAiOjE3OTUwOTMyMDB9.c2ln"}"#))?.lifetime == .seconds(3600)
        )
        // The provider's clock is an hour behind: by it the token has two hours.
        let behind = "Thu, 19 Nov 2026 11:00:00 GMT"
        #expect(
            grant(answer(200, #"{"access_token":"e30.eyJleHAiOjE3OTUwOTMyMDB9.c2ln"}"#, date: behind))?.lifetime
                == .seconds(7200)
        )
        // expires_in comes first.
        #expect(
            grant(answer(200, #"{"access_token":"e30.eyJleHAiOjE3OTUwOTMyMDB9.c2ln","expires_in":60}"#))?.lifetime
                == .seconds(60)
        )
    }

    @Test(arguments: [
        "e30.eyJleHAiOjE3OTUwODkwMDB9.c2ln",  // {"exp":1795089000}: ten minutes before noon
        "e30.eyJleHAiOiJzb29uIn0.c2ln",  // {"exp":"soon"}
        "e30.e30.c2ln", "e30.!!!.c2ln", "e30.eyJleHA.c2ln", "e30.W10.c2ln", "e30..c2ln", "..", "a.b.c.d.e", "e30.e.x",
    ])
    func `a token that only looks like a JWT has the configured lifetime`(token: String) {
        let rules = ResponseRules(defaultLifetime: .seconds(1200))
        #expect(grant(answer(200, #"{"access_token":"\#(token)"}"#), rules: rules)?.lifetime == .seconds(1200))
    }

    @Test func `a JWT that ends in a million years ends within a day`() {
        // {"exp":1e300}
        #expect(grant(answer(200, #"{"access_token":"e30.eyJleHAiOjFlMzAwfQ.c2ln"}"#))?.lifetime == .seconds(86_400))
    }

    @Test(arguments: [
        (Duration.seconds(-5), Duration.seconds(1)), (.zero, .seconds(1)), (.seconds(60), .seconds(60)),
        (.seconds(1_000_000), .seconds(86_400)),
    ])
    func `the configured lifetime is held to a day, too`(configured: Duration, lifetime: Duration) {
        #expect(ResponseRules(defaultLifetime: configured).defaultLifetime == lifetime)
    }

    @Test(arguments: [
        (#""refresh_expires_in":1800"#, Duration?.some(.seconds(1800))),
        (#""refresh_token_expires_in":"15897600""#, .seconds(15_897_600)),
        (#""x_refresh_token_expires_in":8640000"#, .seconds(8_640_000)),
        (#""refresh_expires_in":0,"refresh_token_expires_in":5"#, .seconds(5)),
        (#""refresh_expires_in":0"#, nil), (#""refresh_expires_in":-1"#, nil), (#""refresh_expires_in":null"#, nil),
        (#""refresh_expires_in":"never""#, nil), (#""refresh_expires_in":1e300"#, .seconds(315_360_000)),
        (#""x":1"#, nil),
    ])
    func `how long the refresh token lives is read where it is said`(member: String, lifetime: Duration?) {
        #expect(grant(answer(200, #"{"access_token":"A",\#(member)}"#))?.refreshLifetime == lifetime)
    }
}
