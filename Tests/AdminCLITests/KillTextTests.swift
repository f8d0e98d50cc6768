internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct KillTextTests {
    private let text = KillText(times: RelativeTime(now: Date(timeIntervalSince1970: 1_767_225_660)))

    /// A kill that started a minute ago.
    private static func kill(
        _ more: String,
        id: String = "k",
        state: String = "pending",
        refused: Int = 0,
        unsupported: Int = 0,
        unreachable: Int = 0,
        givenUp: Int? = nil,
        nextTryAt: String? = nil,
        draining: Int = 0
    ) -> String {
        // Older gateways do not send these two members.
        let ofThose =
            (givenUp.map { #","given_up":\#($0)"# } ?? "") + (nextTryAt.map { #","next_try_at":"\#($0)""# } ?? "")
        return """
            {"id":"\(id)","scope":{"all":true},"reason":"drill","state":"\(state)","replicas":[],
            "tokens":{"total":\(refused + unsupported + unreachable),"waiting":0,"in_flight":0,"revoked":0,
            "refused":\(refused),"unsupported":\(unsupported),"unreachable":\(unreachable)\(ofThose)},
            "draining":\(draining),"started_at":"2026-01-01T00:00:00.000Z"\(more)}
            """
    }

    private func lines(_ more: String, state: String = "pending") throws -> [String] {
        self.text.lines(try Self.reply(Self.kill(more, state: state)).read(KillReply.self))
    }

    private static func reply(_ text: String) -> AdminReply { AdminReply(httpStatus: 200, body: Array(text.utf8)) }

    private func list(_ text: String) throws -> [String] {
        self.text.lines(try Self.reply(text).read(KillsReply.self))
    }

    private func lines(tokens: String) throws -> [String] {
        let kill =
            #"{"id":"k","scope":{"all":true},"reason":"drill","state":"complete","replicas":[],"draining":0,"#
            + #""started_at":"2026-01-01T00:00:00.000Z","tokens":{"total":200000,"waiting":100000,"in_flight":0,"#
            + #""revoked":100000,"refused":0,"unsupported":0,"unreachable":0\#(tokens)}}"#
        return self.text.lines(try Self.reply(kill).read(KillReply.self))
    }

    @Test func `while tokens are revoked, the estimate and the speed are shown`() throws {
        let lines = try self.lines(tokens: #","estimated_end":"2026-01-01T00:34:20.000Z","per_second":50"#)
        let left = try #require(lines.first { $0.hasPrefix("left") })
        #expect(left.hasSuffix("about 33 min at 50 a second, until 2026-01-01T00:34:20.000Z"))
        let over = try self.lines(tokens: #","estimated_end":"2026-01-01T00:00:20.000Z","per_second":50"#)
        #expect(!over.contains { $0.hasPrefix("left") })
        #expect(try !self.lines(tokens: "").contains { $0.hasPrefix("left") })
    }

    @Test func `while accounts are looked through, the counts are shown as unfinished`() throws {
        let lines = try self.lines(tokens: #","collected":false"#)
        #expect(lines.contains { $0.hasSuffix("waiting to be revoked; the accounts are still looked through") })
        let done = try self.lines(tokens: #","collected":true"#)
        #expect(!done.contains { $0.contains("looked through") })
    }

    @Test func `the tokens of a kill are shown one a line`() throws {
        let page =
            #"{"tokens":[{"account":"alice","kind":"refresh","outcome":"revoked","ends_at":null},"#
            + #"{"account":"bob","kind":"access","outcome":"waiting","ends_at":"2026-01-01T00:02:00.000Z"}],"next":null}"#
        let lines = self.text.lines(try Self.reply(page).read(KilledTokensReply.self))
        #expect(lines == ["alice: refresh token revoked", "bob: access token waiting, ends in 60 s"])
    }

    @Test func `the times of the kill, its completion and its revive are shown relative and absolute`() throws {
        let lines = try self.lines(
            #","epoch":3,"store":"reachable","completed_at":"2026-01-01T00:00:01.000Z","revived_at":"2026-01-01T00:00:30.000Z""#,
            state: "complete"
        )
        #expect(lines.contains { $0.hasPrefix("ordered") && $0.contains("60 s ago (2026-01-01T00:00:00.000Z)") })
        #expect(lines.contains { $0.contains("any more, 59 s ago (2026-01-01T00:00:01.000Z)") })
        #expect(lines.contains { $0.hasPrefix("revived") && $0.contains("30 s ago (2026-01-01T00:00:30.000Z)") })
        #expect(lines.contains { $0.hasPrefix("tokens") && $0.hasSuffix("none") })
    }

    @Test(
        arguments: [
            (0, nil), (1, "1 request was let end, whose head had left"),
            (2, "2 requests were let end, whose heads had left"),
        ] as [(Int, String?)]
    )
    func `the number of drained requests is shown in the past tense`(draining: Int, what: String?) throws {
        let kill = Self.kill(#","epoch":3,"store":"reachable""#, state: "complete", draining: draining)
        let lines = self.text.lines(try Self.reply(kill).read(KillReply.self))
        #expect(lines.first { $0.hasPrefix("drained") } == what.map { "drained    \($0)" })
    }

    @Test(
        arguments: [
            (0, 0, 0, nil),
            (
                0, 0, 2,
                "an unreachable provider is asked again for 24 hours after the kill; a token that is not revoked by "
                    + "then lives on until it ends: end its grant at the provider itself"
            ),
            (
                0, 1, 0,
                "1 token could not be revoked, since nothing at the provider revokes; what has not expired works "
                    + "there until it does"
            ),
            (
                1, 2, 0,
                "2 tokens could not be revoked, since nothing at the provider revokes; what has not expired works "
                    + "there until it does; end the grants of those refused at the provider itself"
            ),
        ] as [(Int, Int, Int, String?)]
    )
    func `one line says what happens to tokens that were not revoked`(
        refused: Int,
        unsupported: Int,
        unreachable: Int,
        next: String?
    ) throws {
        // Given a complete kill, once with a readable report and once without
        func lines(_ store: String) throws -> [String] {
            let kill = Self.kill(
                #","epoch":3,"store":"\#(store)""#,
                state: "complete",
                refused: refused,
                unsupported: unsupported,
                unreachable: unreachable
            )
            return self.text.lines(try Self.reply(kill).read(KillReply.self))
        }

        // Then only the first one has this line, because the other's results are unknown
        #expect(try lines("reachable").filter { $0.hasPrefix("next") } == (next.map { ["next       \($0)"] } ?? []))
        #expect(try !lines("unreachable").contains { $0.hasPrefix("next") })
    }

    @Test(
        arguments: [
            (
                0, "2 provider unreachable",
                "the gateway asks an unreachable provider again, for at least 24 hours (martlet kills shows how that goes)"
            ),
            (
                1, "1 provider unreachable, 1 given up with the provider unreachable",
                "the gateway asks an unreachable provider again, for at least 24 hours (martlet kills shows how that goes)"
                    + "; 1 token was not revoked, and an unreachable provider is not asked about that any more: end the "
                    + "grant at the provider itself"
            ),
            (
                2, "2 given up with the provider unreachable",
                "2 tokens were not revoked, and an unreachable provider is not asked about that any more: end the grant at "
                    + "the provider itself"
            ),
        ] as [(Int, String, String)]
    )
    func `abandoned tokens are distinguished from those that are still tried`(
        givenUp: Int,
        tokens: String,
        next: String
    ) throws {
        // Given a kill of two tokens whose provider was unreachable
        let more = #","epoch":3,"store":"reachable""#
        let kill = Self.kill(more, state: "complete", unreachable: 2, givenUp: givenUp)

        // When its report is printed
        let lines = self.text.lines(try Self.reply(kill).read(KillReply.self))

        // Then it does not promise a revocation that will not happen
        #expect(lines.filter { $0.hasPrefix("tokens") } == ["tokens     \(tokens)"])
        #expect(lines.filter { $0.hasPrefix("next") } == ["next       \(next)"])
    }

    @Test func `the time of the next try is shown if the report is readable`() throws {
        // Given a kill of a token whose provider was unreachable
        func line(_ store: String) throws -> String? {
            let kill = Self.kill(
                #","epoch":3,"store":"\#(store)""#,
                state: "complete",
                unreachable: 1,
                givenUp: 0,
                nextTryAt: "2026-01-01T00:01:12.000Z"
            )
            return self.text.lines(try Self.reply(kill).read(KillReply.self)).first { $0.hasPrefix("next try") }
        }

        // Then the report says how long the wait is
        #expect(try line("reachable") == "next try   in 12 s (2026-01-01T00:01:12.000Z)")
        #expect(try line("unreachable") == nil)
    }

    @Test func `a kill in effect is not called revived`() throws {
        #expect(
            try !self.lines(#","epoch":3,"store":"reachable","revived_at":null"#).contains { $0.contains("revived") }
        )
    }

    @Test(arguments: [
        (#"{"all":true}"#, "--all"), (#"{"provider":"acme"}"#, "--provider acme"),
        (#"{"account":"alice"}"#, "--account alice"),
    ])
    func `a kill in effect names the revive command for its scope`(scope: String, option: String) throws {
        func line(_ more: String) throws -> String? {
            let kill = Self.kill(more, state: "complete").replacing(#"{"all":true}"#, with: scope)
            return self.text.lines(try Self.reply(kill).read(KillReply.self)).first { $0.hasPrefix("lifted by") }
        }
        let text = "lifted by  martlet revive \(option) --reason TEXT; what was killed stays dead"
        #expect(try line(#","epoch":3,"store":"reachable""#) == text)
        #expect(try line(#","epoch":3,"store":"reachable","revived_at":"2026-01-01T00:00:30.000Z""#) == nil)
        // A kill can't be revived before it is stored.
        #expect(try line(#","epoch":null,"store":"unreachable""#) == nil)
    }

    @Test func `a kill that is not stored is distinguished from one with an unreadable report`() throws {
        let untaken = try self.lines(#","epoch":null,"store":"unreachable""#)
        #expect(untaken.contains { $0.contains("pending: the store has not taken it") })
        let unread = try self.lines(#","epoch":3,"store":"unreachable""#)
        #expect(unread.contains { $0.contains("pending, as far as is known without the store") })
        for lines in [untaken, unread] {
            #expect(lines.contains { $0.hasPrefix("tokens") && $0.contains("unknown without the store") })
        }
    }

    @Test func `an empty list of kills is shown only if the gateway has read the store`() throws {
        #expect(try self.list(#"{"kills":[]}"#) == ["no kills"])
        #expect(try self.list(#"{"kills":[],"store":"reachable"}"#) == ["no kills"])
        let unknown = try self.list(#"{"kills":[],"store":"unreachable"}"#)
        #expect(unknown.count == 1 && unknown.first?.hasPrefix("unknown:") == true)
    }

    @Test func `a list of kills that may be incomplete says so`() throws {
        let kills = "[\(Self.kill("")),\(Self.kill(""))]"
        let whole = try self.list(#"{"kills":\#(kills),"store":"reachable"}"#)
        #expect(whole.count { $0.isEmpty } == 1 && whole.first?.hasPrefix("kill") == true)
        let part = try self.list(#"{"kills":\#(kills),"store":"unreachable"}"#)
        #expect(part.first?.hasPrefix("perhaps not all:") == true && Array(part.dropFirst(2)) == whole)
    }

    @Test(arguments: [(404, ProgramExit.usage), (400, .usage), (503, .usage), (401, .notAllowed)])
    func `a refused kill has another exit code than a kill in effect`(httpStatus: Int, status: ProgramExit) {
        let problem = #"{"type":"urn:martlet:error:not_found","title":"t","status":1,"detail":"because"}"#
        let reply = AdminReply(httpStatus: httpStatus, body: Array(problem.utf8))
        #expect(reply.failure(of: "kill the tokens")?.ofRefusedKill.status == status)
    }

    @Test func `a kill is found in the list of all kills, and then requested by its id`() throws {
        let scope = try Self.reply(Self.kill("")).read(KillReply.self).scope
        var sighting = KillFinder(of: scope, reason: "drill")
        #expect(sighting.request.path == "/v1/kills")
        #expect(sighting.kill(in: Self.reply(#"{"kills":[]}"#)) == nil)
        #expect(sighting.request.path == "/v1/kills")
        let kills = "[\(Self.kill("", id: "new")),\(Self.kill("", id: "old"))]"
        #expect(sighting.kill(in: Self.reply(#"{"kills":\#(kills)}"#))?.id == "new")
        #expect(sighting.request.path == "/v1/kills/new")
        #expect(sighting.kill(in: Self.reply(Self.kill("", id: "new")))?.id == "new")
        #expect(sighting.kill(in: Self.reply(Self.kill("", id: "new", state: "complete"))) == nil)
        #expect(sighting.request.path == "/v1/kills/new")
        let problem = #"{"type":"urn:martlet:error:store_lost","title":"t","status":503,"detail":"because"}"#
        #expect(sighting.kill(in: AdminReply(httpStatus: 503, body: Array(problem.utf8))) == nil)
        #expect(sighting.request.path == "/v1/kills")
    }
}
