import SignIn
import Testing

/// The words that the admin API uses.
struct SignInWayTests {
    @Test func `a way has the name that the admin API uses`() {
        #expect(SignInWay.allCases.map(\.rawValue) == ["loopback", "paste", "gateway", "device"])
    }

    @Test func `a state has the name that the admin API uses`() {
        let names = ["pending", "redeeming", "done", "failed", "cancelled", "expired"]
        #expect(SignInReport.State.allCases.map(\.rawValue) == names)
    }

    @Test func `an error has the code that the admin API uses`() {
        let codes = [
            "access_denied", "provider_error", "iss_missing", "iss_differs", "code_refused", "answer_lost",
            "provider_unreachable", "provider_config", "no_refresh_token", "id_token_missing", "id_token_invalid",
            "subject_differs", "killed", "not_configured", "not_stored", "audit_unavailable", "interrupted", "expired",
        ]
        #expect(SignInFailure.Code.allCases.map(\.rawValue) == codes)
    }
}
