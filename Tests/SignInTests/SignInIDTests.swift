import SignIn
import Testing

struct SignInIDTests {
    @Test func `a way has the name that the admin API uses`() {
        #expect(SignInWay.allCases.map(\.rawValue) == ["loopback", "paste", "gateway", "device"])
    }
}
