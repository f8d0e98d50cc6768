internal import AdminCLI
internal import Foundation
internal import Synchronization
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct PasteDialogueTests {
    private static let good = "http://127.0.0.1/callback?code=canary&state=s"
    private static let foreign = FakeSignInGateway.Act.reply(
        SignInFixture.problem(400, "invalid_field", field: "answer")
    )

    /// A user who types `lines` in turn.
    private final class User: Sendable {
        private let lines: Mutex<[String]>
        private let heard = Mutex<[String]>([])

        init(_ lines: [String]) { self.lines = Mutex(lines) }

        var complaints: [String] { self.heard.withLock { $0 } }

        func dialogue(attempts: Int) -> PasteDialogue {
            PasteDialogue(
                attempts: attempts,
                read: { () throws(CommandFailure) in
                    let line = self.lines.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                    guard let line else { throw SignInSession.cancelled }
                    return line
                },
                complain: { complaint in self.heard.withLock { $0.append(complaint) } }
            )
        }
    }

    private static func session(_ gateway: FakeSignInGateway) async throws -> SignInSession {
        let start = try await SignInSession.start(
            SignInOrder(account: "alice", way: .paste),
            at: gateway,
            clock: .system,
            mention: { _ in }
        )
        guard case .started(let session) = start else { throw UnexpectedCourse("it did not start") }
        return session
    }

    private static func act(_ state: String) throws -> FakeSignInGateway.Act {
        .reply(SignInFixture.reply(try SignInFixture.json(state: state)))
    }

    @Test func `a mistake is told, and the address asked for again`() async throws {
        let gateway = FakeSignInGateway([try Self.act("pending"), Self.foreign, try Self.act("done")])
        let session = try await Self.session(gateway)
        let user = User(["two words", "http://127.0.0.1/callback?code=other", "'\(Self.good)' "])
        let outcome = try await user.dialogue(attempts: 3).outcome(of: session)
        #expect(outcome.signIn.state == "done")
        #expect(
            user.complaints == [
                "that is no address: it has to be the whole one from the browser's address bar, in one line; try again",
                "because; try again",
            ]
        )
        #expect(gateway.requests.last == #"POST /v1/logins/a%2Fb {"answer":"\#(Self.good)"}"#)
    }

    @Test(arguments: [1, 3])
    func `the last mistake cancels the sign-in and fails the command`(attempts: Int) async throws {
        let refusals = Array(repeating: Self.foreign, count: attempts)
        let gateway = FakeSignInGateway([try Self.act("pending")] + refusals + [try Self.act("cancelled")])
        let session = try await Self.session(gateway)
        let user = User(Array(repeating: Self.good, count: 3))
        await #expect(throws: CommandFailure(.usage, "because; the sign-in is cancelled")) {
            _ = try await user.dialogue(attempts: attempts).outcome(of: session)
        }
        #expect(user.complaints.count == attempts - 1)
        #expect(gateway.requests.last == "DELETE /v1/logins/a%2Fb ")
    }

    @Test func `control-C at the question cancels the sign-in`() async throws {
        let gateway = FakeSignInGateway([try Self.act("pending"), try Self.act("cancelled")])
        let session = try await Self.session(gateway)
        await #expect(throws: SignInSession.cancelled) {
            _ = try await User([]).dialogue(attempts: 3).outcome(of: session)
        }
        #expect(gateway.requests.last == "DELETE /v1/logins/a%2Fb ")
    }

    @Test(arguments: ["", "  \t", "\"\"", "http://a b", "http://ex\u{e4}mple/", "a\u{7}b"])
    func `what can be no address is refused without repeating it`(text: String) throws {
        let failure = #expect(throws: CommandFailure.self) { _ = try SignInAnswer(pasted: text) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.contains("http") == false)
    }

    @Test func `an address is shown nowhere`() throws {
        let answer = try SignInAnswer(pasted: Self.good)
        #expect(!"\(answer)".contains("canary"))
        #expect(!String(reflecting: answer).contains("canary"))
    }

    @Test(arguments: [("first\nsecond\n", "first"), ("only", "only"), ("", ""), ("\n", "")])
    func `one line is read from a pipe`(text: String, line: String) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "input")
        try Data(text.utf8).write(to: URL(filePath: path))
        let input = try FileHandle(forReadingFrom: URL(filePath: path))
        #expect(try PasteDialogue.line(from: input.fileDescriptor) == line)
    }
}
