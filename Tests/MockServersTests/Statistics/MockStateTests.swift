import MockServers
import Testing
import TextCoding

@Suite struct MockStateTests {
    let mint = CountingMint()

    func open(_ state: inout MockState, _ account: String = "a0") throws -> IssuedTokens {
        try state.ledger.open(
            account: account,
            scope: nil,
            refreshable: true,
            issuer: "http://mock",
            at: .second(0),
            mint: self.mint
        ).tokens
    }

    @Test func `a dead use is recorded with its state, path and time, even if a fault answers`() throws {
        var state = MockState(rules: TokenRules())
        let tokens = try self.open(&state)
        state.replaceFaults(with: [FaultRule(on: .api)])
        _ = state.ledger.revoke(tokens.accessToken, at: .second(10))

        #expect(state.apiRequestArrived(tokens: [tokens.accessToken], path: "/api/echo", at: .second(12.5)) != nil)

        let stats = state.stats(at: .second(20))
        #expect(
            stats.deadUses == [
                MockStats.DeadUse(account: "a0", state: .revoked, path: "/api/echo", at: 1_763_683_212.5)
            ]
        )
        #expect(stats.apiLastUse == ["a0": 1_763_683_212.5])
    }

    @Test func `a head that was read while its token lived is no dead use, even if processed later`() throws {
        var state = MockState(rules: TokenRules())
        let tokens = try self.open(&state)
        _ = state.ledger.revoke(tokens.accessToken, at: .second(10))

        _ = state.apiRequestArrived(tokens: [tokens.accessToken], path: "/api/echo", at: .second(9.999))

        #expect(state.stats(at: .second(20)).deadUses.isEmpty)
    }

    @Test func `the last use is the latest one, whatever the order of processing`() throws {
        var state = MockState(rules: TokenRules())
        let tokens = try self.open(&state)

        for second in [5.0, 7, 6] {
            _ = state.apiRequestArrived(tokens: [tokens.accessToken], path: "/", at: .second(second))
        }
        _ = state.apiRequestArrived(tokens: ["made up"], path: "/", at: .second(8))

        #expect(state.stats(at: .second(20)).apiLastUse == ["a0": 1_763_683_207])
    }

    @Test func `a request is judged by its only token`() throws {
        var state = MockState(rules: TokenRules())
        let tokens = try self.open(&state)

        #expect(state.evaluate(tokens: [], at: .second(1)) == .noToken)
        #expect(state.evaluate(tokens: ["made up"], at: .second(1)) == .unknown)
        #expect(state.evaluate(tokens: [tokens.accessToken], at: .second(1)) == .ok(account: "a0"))
        #expect(state.evaluate(tokens: [tokens.accessToken, "made up"], at: .second(1)) == .unknown)
        #expect(state.evaluate(tokens: [tokens.accessToken], at: .second(60)) == .expired)
        _ = state.ledger.revoke(tokens.accessToken, at: .second(61))
        #expect(state.evaluate(tokens: [tokens.accessToken], at: .second(62)) == .revoked)
    }

    @Test(arguments: [GrantRefusal.Code.invalidClient, .invalidGrant, .invalidRequest, .slowDown, .serverError])
    func `each refused token request counts once`(code: GrantRefusal.Code) {
        var state = MockState(rules: TokenRules())
        state.count(.refused(GrantRefusal(code, "")))

        let counts = state.stats(at: .second(0)).tokenRequests
        #expect(counts.invalidClient == (code == .invalidClient ? 1 : 0))
        #expect(counts.invalidGrant == (code == .invalidClient ? 0 : 1))
        #expect(counts.ok + counts.fault == 0)
    }

    @Test func `every key of the statistics is present from the start`() throws {
        let text = String(
            decoding: try JSONText.encode(MockState(rules: TokenRules()).stats(at: .second(0))),
            as: UTF8.self
        )
        #expect(
            text
                == #"{"api_last_use":{},"api_requests":{"expired":0,"fault":0,"no_token":0,"ok":0,"revoked":0,"unknown":0},"#
                + #""dead_uses":[],"live":{},"refresh_token_uses":{},"reuse_detections":0,"#
                + #""revocations":{"fault":0,"ok":0,"unknown":0},"#
                + #""sign_ins":{"authorize":0,"codes_redeemed":0,"codes_replayed":0,"device":0,"device_polls":0,"par":0},"#
                + #""token_requests":{"fault":0,"invalid_client":0,"invalid_grant":0,"ok":0},"#
                + #""token_requests_at_once":{"any":0,"per_refresh_token":0}}"#
        )
    }
}
