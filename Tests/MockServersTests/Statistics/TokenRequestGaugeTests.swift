import MockServers
import Testing

@Suite struct TokenRequestGaugeTests {
    @Test func `the gauge keeps the most requests at once, in total and per refresh token`() {
        var gauge = TokenRequestGauge()
        let first = gauge.begin(refreshToken: "r1")
        let second = gauge.begin(refreshToken: "r1")
        let third = gauge.begin(refreshToken: "r2")
        let fourth = gauge.begin(refreshToken: nil)
        for span in [first, second, third, fourth] { gauge.end(span) }

        _ = gauge.begin(refreshToken: "r1")

        #expect(gauge.mostAtOnce == 4)
        #expect(gauge.mostPerRefreshToken == 2)
    }

    @Test func `sequential requests count as one at once, even if each ends twice`() {
        var gauge = TokenRequestGauge()
        for _ in 0..<3 {
            let span = gauge.begin(refreshToken: "r1")
            gauge.end(span)
            gauge.end(span)
        }
        #expect(gauge.mostAtOnce == 1)
        #expect(gauge.mostPerRefreshToken == 1)
    }

    @Test func `a request that ends twice does not hide another one`() {
        var gauge = TokenRequestGauge()
        let first = gauge.begin(refreshToken: "r1")
        _ = gauge.begin(refreshToken: "r1")
        gauge.end(first)
        gauge.end(first)
        _ = gauge.begin(refreshToken: "r1")
        _ = gauge.begin(refreshToken: "r1")
        #expect(gauge.mostAtOnce == 3)
        #expect(gauge.mostPerRefreshToken == 3)
    }
}
