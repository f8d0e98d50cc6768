internal import AdminCLI
internal import Foundation
internal import Testing

/// The output about tokens that are to be revoked.
@Suite struct RemovalTextTests {
    private let text = AccountText(times: RelativeTime(now: Date(timeIntervalSince1970: 1_763_683_200)))

    @Test(arguments: [
        ("waiting", "null", "null", "its provider is asked again by itself"),
        (
            "waiting", #""2025-11-21T00:00:12.000Z""#, #""2025-11-21T00:54:00.000Z""#,
            "its provider is asked again by itself; its turn comes in 12 s; it ends in 54 min"
        ),
        ("not_configured", "null", "null", "nobody is asked, as its provider or client is not configured"),
    ])
    func `tokens that are still to be revoked are shown with their account`(
        reason: String,
        nextTryAt: String,
        endsAt: String,
        outlook: String
    ) throws {
        // Given an account whose refresh token was removed and is not revoked yet
        let token = """
            {"kind":"refresh","outcome":"unreachable","reason":"\(reason)","next_try_at":\(nextTryAt),"ends_at":\(endsAt)}
            """
        let answer = """
            {"configured":true,"generation":0,"name":"alice","provider":"acme","scopes":[],"state":"empty",\
            "last_error":"tokens_removed","unrevoked":[\(token)]}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)

        // When the account is shown
        let details = self.text.details(account)

        // Then the output says that the token is not revoked
        #expect(details.contains("not revoked   refresh token: \(outlook)"), "\(details)")
    }

    @Test(
        arguments: [("revoked", nil), ("unsupported", nil), ("refused", 1), ("client_refused", 1), ("unreachable", 1)]
            as [(String, Int32?)]
    )
    func `tokens that the provider did not revoke fail the command`(outcome: String, status: Int32?) throws {
        let account =
            #"{"configured":true,"generation":0,"name":"alice","provider":"acme","scopes":[],"state":"empty"}"#
        let answer = #"{"account":\#(account),"tokens":[{"kind":"refresh","outcome":"\#(outcome)","reason":null}]}"#
        let removal = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(RemovalReply.self)
        #expect(removal.failure?.status.rawValue == status)
        #expect(
            self.text.table(removal.tokens).last
                == "refresh  \(outcome.padding(toLength: 15, withPad: " ", startingAt: 0))  -       -         -"
        )
    }

    @Test func `tokens of an unconfigured provider fail the command with a remedy`() throws {
        // Given tokens that were removed after their provider was removed from the configuration
        let account =
            #"{"configured":true,"generation":0,"name":"alice","provider":"acme","scopes":[],"state":"empty"}"#
        let token = #"{"kind":"refresh","outcome":"unreachable","reason":"not_configured","ends_at":null}"#
        let answer = #"{"account":\#(account),"tokens":[\#(token)]}"#

        // When the command gets its response
        let failure = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(RemovalReply.self).failure

        // Then the message does not suggest an outage, which would end by itself
        let message = try #require(failure).message
        #expect(
            message.contains("not configured any more: put it back into the configuration within a day"),
            "\(message)"
        )
        #expect(message.contains("end the grant at the provider itself"))
        #expect(!message.contains("is asked again"))
    }

    @Test func `the table shows the next try for a token of an earlier removal`() throws {
        let account =
            #"{"configured":true,"generation":0,"name":"alice","provider":"acme","scopes":[],"state":"empty"}"#
        let times = #""ends_at":"2025-11-21T00:54:00.000Z","next_try_at":"2025-11-21T00:00:12.000Z""#
        let token = #"{"kind":"refresh","outcome":"unreachable","reason":"waiting",\#(times)}"#
        let answer = #"{"account":\#(account),"tokens":[\#(token)]}"#
        let removal = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(RemovalReply.self)
        #expect(
            self.text.table(removal.tokens) == [
                "TOKEN    AT THE PROVIDER  REASON   NEXT TRY  ENDS",
                "refresh  unreachable      waiting  in 12 s   in 54 min",
            ]
        )
    }

    @Test func `unrevoked tokens of an earlier removal fail the command and are called waiting`() throws {
        let account =
            #"{"configured":true,"generation":0,"name":"alice","provider":"acme","scopes":[],"state":"empty"}"#
        let token = #"{"kind":"refresh","outcome":"unreachable","reason":"waiting","ends_at":null}"#
        let answer = #"{"account":\#(account),"tokens":[\#(token)]}"#
        let failure = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(RemovalReply.self).failure
        #expect(failure?.status == .no)
        #expect(failure?.message.contains("not all revoked (refresh token waiting): ") == true)
        #expect(failure?.message.contains("is asked for again for a day") == true)
    }
}
