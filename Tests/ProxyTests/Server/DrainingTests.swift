import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

@Suite struct DrainingTests {
    @Test(arguments: [1, 2])
    func `requests in progress finish, their connections and idle ones close, and no new ones are accepted`(
        eventLoops: Int
    ) async throws {
        try await withRig(Rig.Setup(eventLoops: eventLoops)) { rig in
            var idle: [Peer] = []
            var busy: [(caller: Peer, upstream: Peer)] = []
            for _ in 1...8 {
                let (caller, upstream) = try await rig.begun()
                busy.append((caller, upstream))
                let other = try await rig.caller()
                try await other.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await other.answer()
                idle.append(other)
            }
            async let drained = rig.server.shutDown(grace: patience)
            for caller in idle { #expect(try await caller.ending() == .clean) }
            await #expect(throws: (any Error).self) { try await rig.caller() }
            for (caller, upstream) in busy {
                try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                let (head, body) = try await caller.answer()
                #expect(head["Connection"] == "close")
                #expect(body == "ok")
                #expect(try await caller.ending() == .clean)
                _ = try await upstream.ending()
            }
            #expect(await drained)
        }
    }

    @Test func `a response whose head had already left ends the connection with its last byte`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            #expect(try await caller.head().all("Connection").isEmpty)
            let idle = try await rig.caller()
            try await rig.settle()
            async let drained = rig.server.shutDown(grace: patience)
            #expect(try await idle.ending() == .clean)
            try await upstream.send("world")
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == "helloworld")
            #expect(ending == .clean)
            #expect(await drained)
        }
    }

    @Test func `a request that has begun to arrive is still served`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHo")
            let idle = try await rig.caller()
            try await rig.settle()
            async let drained = rig.server.shutDown(grace: patience)
            #expect(try await idle.ending() == .clean)
            try await caller.send("st: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            let (head, body) = try await caller.answer()
            #expect(head["Connection"] == "close")
            #expect(body == "ok")
            #expect(await drained)
        }
    }

    @Test func `a request that arrives during the shutdown is served, on a new and on a used connection`() async throws
    {
        // Such connections are kept for a while.
        try await withRig(Rig.Setup().frozen) { rig in
            let used = try await rig.caller()
            try await used.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await used.answer().head.all("Connection").isEmpty)
            let fresh = try await rig.caller()
            async let drained = rig.server.shutDown(grace: patience)
            try await eventually("nobody listens") { (try? await rig.caller().close()) == nil }
            // The loop stops later than the listener. A response that says "close" is the first that shows it.
            try await eventually("a request on a used connection during the shutdown") {
                try await used.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                let head = try await used.answer().head
                #expect(head.status == 404)
                return head["Connection"] == "close"
            }
            try await fresh.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await fresh.answer().head.status == 404)
            for caller in [used, fresh] { #expect(try await caller.ending() == .clean) }
            #expect(await drained)
        }
    }

    @Test(arguments: [1, 2])
    func `requests that do not finish in time are cut off, and the shutdown reports it`(eventLoops: Int) async throws {
        try await withRig(Rig.Setup(eventLoops: eventLoops)) { rig in
            let (caller, upstream) = try await rig.begun()
            #expect(await rig.server.shutDown(grace: .milliseconds(100)) == false)
            _ = try await caller.ending()
            _ = try await upstream.ending()
        }
    }

    @Test func `parked requests are in progress too`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            let idle = try await rig.caller()
            try await rig.settle()
            async let drained = rig.server.shutDown(grace: patience)
            #expect(try await idle.ending() == .clean)
            question.answer(.failure(CredentialError(.killed, "killed")))
            let (head, _) = try await caller.answer()
            #expect(head.status == 503)
            #expect(head["Connection"] == "close")
            #expect(await drained)
        }
    }

    @Test func `without connections the shutdown is over at once`() async throws {
        try await withRig { rig in
            #expect(await rig.server.shutDown(grace: patience))
        }
    }

    @Test func `a credential for an event loop that has ended is dropped`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            #expect(await rig.server.shutDown(grace: .zero) == false)
            rig.server.apply(.installed(.sample()))
            question.answer(.success(.sample()))
            _ = try await caller.ending()
        }
    }
}
