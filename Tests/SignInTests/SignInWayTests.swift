import SignIn
import Testing

struct SignInWayTests {
    @Test func `the ways are those of the admin API`() {
        #expect(SignInWay.allCases.map(\.rawValue) == ["loopback", "paste", "gateway", "device"])
    }
}
