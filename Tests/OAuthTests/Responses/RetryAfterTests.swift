import OAuth
import Testing
import TokenModel

@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("30", Duration.seconds(30)), ("1", .seconds(1)), ("0", .seconds(1)), ("-1", .seconds(1)),
        ("000120", .seconds(120)), ("2.5", .milliseconds(2500)), ("300", .seconds(300)), ("301", .seconds(300)),
        ("1e12", .seconds(300)), ("1000000000000", .seconds(300)), (String(repeating: "9", count: 400), .seconds(300)),
        ("Thu, 19 Nov 2026 12:02:00 GMT", .seconds(120)), ("Thursday, 19-Nov-26 12:02:00 GMT", .seconds(120)),
        ("Thu Nov 19 12:02:00 2026", .seconds(120)), ("Thu, 19 Nov 2026 11:00:00 GMT", .seconds(1)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(1)), ("Sunday, 06-Nov-94 08:49:37 GMT", .seconds(1)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(300)),
        // Unreadable values give a moderate wait of 30 s.
        ("", .seconds(30)), ("soon", .seconds(30)), ("Thu, 32 Nov 2026 12:02:00 GMT", .seconds(30)),
        ("Thu, 19 Nov 2026 25:02:00 GMT", .seconds(30)), ("Thu, 19 Nov 2026 12:02:00 CET", .seconds(30)),
        ("inf", .seconds(30)), ("nan", .seconds(30)),
    ])
    func `the wait follows Retry-After, between a second and five minutes`(field: String, wait: Duration) {
        #expect(verdict(answer(429, "", retryAfter: field)) == .throttled(retryAfter: wait))
        #expect(verdict(answer(503, "{}", retryAfter: field)) == .throttled(retryAfter: wait))
    }

    @Test func `a 429 without Retry-After waits half a minute, a 503 without it is a failure`() {
        #expect(verdict(answer(429, "")) == .throttled(retryAfter: .seconds(30)))
        #expect(verdict(answer(503, "")) == .ambiguous(.serverError))
    }

    @Test func `a date in Retry-After is relative to the provider's own clock`() {
        let outcome = answer(
            429,
            "",
            retryAfter: "Thu, 19 Nov 2026 13:02:00 GMT",
            date: "Thu, 19 Nov 2026 13:00:00 GMT"
        )
        #expect(verdict(outcome) == .throttled(retryAfter: .seconds(120)))
    }

    @Test func `throttling comes before any other error, except a dead grant`() {
        #expect(
            verdict(answer(429, #"{"error":"invalid_client"}"#, retryAfter: "7")) == .throttled(retryAfter: .seconds(7))
        )
        #expect(verdict(answer(429, #"{"error":"invalid_grant"}"#, retryAfter: "7")) == .dead(reason("invalid_grant")))
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Int64?.some(0)),
        ("Tue, 29 Feb 2000 23:59:60 GMT", 951_868_800_000),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000),
        ("Sun Nov  6 08:49:37 1994", 784_111_777_000),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400_000),
        ("Mon, 00 Mar 2100 00:00:00 GMT", nil),
        ("Sun, 06 Nov 1994 08:49 GMT", nil),
        ("Sun, 06 Nov 1994 08:49:37:11 GMT", nil),
        ("Sun, 06 nov 1994 08:49:37 GMT", 784_111_777_000),
        ("1994-11-06T08:49:37Z", nil),
        (String(repeating: " ", count: 10_000), nil),
    ])
    func `dates are read in the three formats of HTTP`(field: String, milliseconds: Int64?) {
        let answer = ProviderResponse(status: 200, date: field, body: Secret(""), bodyEnd: .proven)
        #expect(answer.date?.millisecondsSince1970 == milliseconds)
    }
}
