internal import AdminCLI
internal import Foundation
internal import Glibc
internal import TestKit
internal import Testing
internal import TokenModel

/// A browser's way through a real port.
@Suite(.timeLimit(.minutes(1))) struct LoopbackSignInTests {
    /// Sends `request` to a port of 127.0.0.1, and reads until the connection ends. It blocks.
    private static func send(_ request: String, to port: Int) -> String {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, count) == 0
            }
        }
        guard isOpen else { return "nobody listens" }
        let bytes = Array(request.utf8)
        guard unsafe Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return "" }
        var received: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = unsafe read(socket, &part, part.count)
            guard count > 0 else { return String(decoding: received, as: UTF8.self) }
            received += part.prefix(count)
        }
    }

    /// As ``send(_:to:)``, on a thread of its own: tasks share few threads, and the server needs one.
    @concurrent
    private static func exchange(_ request: String, with port: Int) async -> String {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: Self.send(request, to: port)) }.start()
        }
    }

    private static func get(_ target: String, host: String? = nil, at port: Int) async -> String {
        let host = host ?? "127.0.0.1:\(port)"
        return await Self.exchange(
            "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nSec-Fetch-Dest: document\r\n\r\n",
            with: port
        )
    }

    private static func act(_ state: String, error: (String, String)? = nil) throws -> FakeSignInGateway.Act {
        .reply(SignInFixture.reply(try SignInFixture.json(state: state, error: error.map { ($0.0, $0.1) })))
    }

    /// Runs a sign-in while `browse` plays the browser.
    private static func signIn(
        _ acts: [FakeSignInGateway.Act],
        clock: Timepiece = .system,
        _ browse: @escaping @Sendable (_ port: Int, FakeSignInGateway) async throws -> Void
    ) async throws -> Result<SignInOutcome, CommandFailure> {
        let gateway = FakeSignInGateway([try Self.act("pending")] + acts)
        let listener = try await LoopbackListener.open(.standard)
        let port = try #require(Int(listener.site.redirectURI.split(separator: ":").last?.prefix { $0 != "/" } ?? ""))
        let start = try await SignInSession.start(
            SignInOrder(account: "alice", way: .loopback, redirectURI: listener.site.redirectURI),
            at: gateway,
            clock: clock,
            mention: { _ in }
        )
        guard case .started(let session) = start else { throw UnexpectedCourse("it did not start") }
        let signIn = LoopbackSignIn(session, at: listener, clock: clock)
        return try await within("the sign-in") {
            async let browsed: Void = browse(port, gateway)
            let ending: Result<SignInOutcome, CommandFailure>
            do throws(CommandFailure) {
                ending = .success(try await signIn.outcome())
            } catch {
                ending = .failure(error)
            }
            try await browsed
            return ending
        }
    }

    @Test func `a browser that is sent back ends the sign-in and sees a clean page`() async throws {
        let outcome = try await Self.signIn([try Self.act("done")]) { port, gateway in
            // Before the end there is no page about it, and foreign requests get nothing.
            #expect(await Self.get("/done", at: port).hasPrefix("HTTP/1.1 404 "))
            #expect(await Self.get("/favicon.ico", at: port).hasPrefix("HTTP/1.1 404 "))
            let foreign = await Self.get("/callback?code=x&state=y", host: "evil.example:\(port)", at: port)
            #expect(foreign.hasPrefix("HTTP/1.1 403 "))
            #expect(gateway.requests.count == 1)

            let callback = await Self.get("/callback?code=canary&state=s", at: port)
            #expect(callback.hasPrefix("HTTP/1.1 303 "))
            #expect(callback.contains("\r\nLocation: /done\r\n"))
            #expect(!callback.contains("canary"))
            #expect(
                gateway.requests.last
                    == #"POST /v1/logins/a%2Fb {"answer":"http://127.0.0.1:\#(port)/callback?code=canary&state=s"}"#
            )
            let page = await Self.get("/done", at: port)
            #expect(page.hasPrefix("HTTP/1.1 200 "))
            #expect(page.contains("The gateway has tokens for alice."))
        }
        #expect(try outcome.get().signIn.state == "done")
    }

    @Test func `a callback that the gateway refuses gets a page, and the command goes on waiting`() async throws {
        let refusal = FakeSignInGateway.Act.reply(SignInFixture.problem(400, "invalid_field", field: "answer"))
        let failed = try Self.act("failed", error: ("access_denied", "<no>"))
        let outcome = try await Self.signIn([refusal, failed]) { port, _ in
            let foreign = await Self.get("/callback?code=x&state=y", at: port)
            #expect(foreign.hasPrefix("HTTP/1.1 400 "))
            #expect(foreign.contains("because. The command still waits for it."))
            #expect(await Self.get("/callback?error=access_denied&state=s", at: port).hasPrefix("HTTP/1.1 303 "))
            #expect(await Self.get("/done", at: port).contains("&lt;no&gt;. You can close"))
        }
        #expect(try outcome.get().signIn.error?.code == "access_denied")
    }

    @Test func `a command that can't hand in the answer says so on the page and fails`() async throws {
        let refusal = FakeSignInGateway.Act.reply(SignInFixture.problem(403, "role_forbidden"))
        let outcome = try await Self.signIn([refusal]) { port, _ in
            #expect(await Self.get("/callback?code=x&state=y", at: port).hasPrefix("HTTP/1.1 303 "))
            #expect(await Self.get("/done", at: port).contains("The terminal says why."))
        }
        #expect(throws: CommandFailure(.notAllowed, "can't hand in the answer of the sign-in: because")) {
            try outcome.get()
        }
    }

    @Test func `a browser that never asks for the last page holds nothing up`() async throws {
        let clock = ManualClock()
        let timepiece = Timepiece(ages: clock) { clock.wall }
        let outcome = try await Self.signIn([try Self.act("done")], clock: timepiece) { port, _ in
            #expect(await Self.get("/callback?code=x&state=y", at: port).hasPrefix("HTTP/1.1 303 "))
            try await clock.advanceToSleeper(within: .seconds(2))
        }
        #expect(try outcome.get().signIn.state == "done")
    }

    @Test func `a sign-in that nobody answers ends when it expires`() async throws {
        let clock = ManualClock()
        let expired = try Self.act("expired", error: ("expired", "nobody signed in"))
        let outcome = try await Self.signIn([expired], clock: Timepiece(ages: clock) { clock.wall }) { _, _ in
            try await clock.advanceToSleeper(within: .seconds(600))
        }
        #expect(try outcome.get().signIn.state == "expired")
    }

    @Test(arguments: ["GET /callback?\(String(repeating: "x", count: 20_000))", "\u{16}\u{03}\u{01} nonsense"])
    func `a head that is too long or no HTTP gets nothing`(line: String) async throws {
        let outcome = try await Self.signIn([try Self.act("done")]) { port, gateway in
            let response = await Self.exchange("\(line) HTTP/1.1\r\n\r\n", with: port)
            #expect(response.isEmpty || response.hasPrefix("HTTP/1.1 400 "))
            #expect(gateway.requests.count == 1)
            _ = await Self.get("/callback?code=x&state=y", at: port)
            _ = await Self.get("/done", at: port)
        }
        #expect(try outcome.get().signIn.state == "done")
    }

    @Test func `a port that is taken is named`() async throws {
        let listener = try await LoopbackListener.open(.standard)
        let taken = try #require(LoopbackRedirect(listener.site.redirectURI))
        let failure = await #expect(throws: CommandFailure.self) { _ = try await LoopbackListener.open(taken) }
        #expect(failure?.status == .unavailable)
        #expect(failure?.message.contains("Address already in use; --paste needs no port") == true)
        listener.close()
    }
}
