import NIOCore
import Proxy
import Testing

@Suite struct ExpectationTests {
    private static let expecting =
        "PUT /acme/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"

    @Test func `a caller that waits for 100 gets it once the request can leave, and Expect is not forwarded`()
        async throws
    {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.expecting)
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample())
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head().all("Expect").isEmpty)
            #expect(try await caller.head().startLine == "HTTP/1.1 100 Continue")
            try await caller.send("hello")
            #expect(String(buffer: try await upstream.bytes(5)) == "hello")
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `a refused request never gets 100`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.expecting.replacing("/acme/", with: "/nowhere/"))
            #expect(try await caller.answer().head.status == 404)
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a caller that does not wait for 100 does not get it`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.expecting + "hello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `a caller gets 100 once, even if the request is sent twice`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.expecting)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let second = try await rig.upstream.accept()
            _ = try await second.head()
            #expect(try await caller.head().status == 100)
            try await caller.send("hello")
            #expect(String(buffer: try await second.bytes(5)) == "hello")
            try await second.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `an HTTP_1_0 caller never gets 100`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.expecting.replacing("HTTP/1.1", with: "HTTP/1.0") + "hello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }
}
