import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

@Suite struct ParkingTests {
    @Test(arguments: [1, 2])
    func `I14_ callers of one account share one question on each loop, and one above the limit gets 503 at once`(
        eventLoops: Int
    ) async throws {
        let setup = Rig.Setup(eventLoops: eventLoops, waiters: 99, credential: nil)
        try await withRig(setup) { rig in
            var callers: [Peer] = []
            for _ in 1...100 { callers.append(try await rig.caller()) }
            for caller in callers { try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n") }

            // One caller gets 503 while the others wait. All the others get 200 afterwards.
            let statuses = Mailbox<Int>()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for caller in callers {
                    tasks.addTask {
                        let (head, body) = try await caller.answer()
                        if head.status == 503 {
                            #expect(body.contains("overloaded"))
                            #expect(head["Retry-After"] == "1")
                        }
                        statuses.put(head.status)
                    }
                }
                #expect(try await statuses.next("answer of the one too many") == 503)
                #expect((1...eventLoops).contains(rig.credentials.questions.total))
                tasks.addTask {
                    for _ in 1...99 {
                        let upstream = try await rig.upstream.accept()
                        _ = try await upstream.head()
                        try await upstream.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                    }
                }
                rig.install(.sample())
                for question in rig.credentials.questions.takeAll() { question.answer(.success(.sample())) }
                try await tasks.waitForAll()
            }
            #expect(statuses.takeAll() == Array(repeating: 200, count: 99))
            #expect(rig.credentials.questions.total <= eventLoops)
        }
    }

    @Test func `I14_ a waiter's place is free again when it has its response`() async throws {
        try await withRig(Rig.Setup(waiters: 1, credential: nil)) { rig in
            let caller = try await rig.caller()
            for _ in 1...3 {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let question = try await rig.credentials.questions.next("question")
                question.answer(.failure(CredentialError(.accountEmpty, "nothing there")))
                #expect(try await caller.answer().body.contains("account_empty"))
            }
        }
    }

    @Test func `a waiter that disconnects affects no other waiter`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let leaving = try await rig.caller()
            try await leaving.send("GET /acme/gone HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            let staying = try await rig.caller()
            try await staying.send("GET /acme/here HTTP/1.1\r\nHost: a\r\n\r\n")
            try await leaving.reset()
            try await rig.settle()
            rig.install(.sample())
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head().request == "GET /v2/here")
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await staying.head().status == 204)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: ["leaves", "is answered"])
    func `I14_ the place of a caller that stops waiting is free at once, not when the credential comes`(end: String)
        async throws
    {
        try await withRig(Rig.Setup(waiters: 1, credential: nil).frozen) { rig in
            var questions: [ScriptedCredentials.Question] = []
            for number in 1...5 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
                if number == 1 { questions.append(try await rig.credentials.questions.next("question")) }
                try await eventually("it to wait") { rig.server.waiterCount == 1 }
                if end == "leaves" {
                    try await caller.reset()
                } else {
                    try await rig.pass(.seconds(16))
                    #expect(try await caller.answer().body.contains("refresh_failed"))
                }
                try await eventually("its place to be free") { rig.server.waiterCount == 0 }
            }
            // All callers shared one question. Nobody is left to get its result.
            #expect(rig.credentials.questions.total == 1)
            rig.install(.sample())
            for question in questions { question.answer(.success(.sample())) }
            let caller = try await rig.caller()
            try await caller.send("GET /acme/last HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head().request == "GET /v2/last")
            #expect(rig.server.waiterCount == 0)
        }
    }

    @Test func `a connection that waits, gives up and waits again takes one place and gets one response`() async throws
    {
        try await withRig(Rig.Setup(waiters: 1, credential: nil).frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/first HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            try await rig.pass(.seconds(16))
            #expect(try await caller.answer().body.contains("refresh_failed"))
            try await caller.send("GET /acme/second HTTP/1.1\r\nHost: a\r\n\r\n")
            try await eventually("it to wait") { rig.server.waiterCount == 1 }
            rig.install(.sample())
            question.answer(.success(.sample()))
            #expect(try await rig.upstream.accept().head().request == "GET /v2/second")
            #expect(rig.server.waiterCount == 0)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a parked request takes no more of its body than the replay limit and one read`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 67108864\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            let piece = ByteBuffer(repeating: 0x61, count: 64 << 10)
            let taken = try await caller.sendUntilStalled(piece, limit: 64 << 20)
            // The kernel's buffers on both sides take some megabytes.
            #expect(taken < 24 << 20)

            rig.install(.sample())
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Content-Length"] == "67108864")
            #expect(try await upstream.bytes(taken).readableBytes == taken)
        }
    }

    @Test func `a body that arrives while its request is parked follows the head`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            let question = try await rig.credentials.questions.next("question")
            try await caller.send("world")
            rig.install(.sample())
            question.answer(.success(.sample()))
            #expect(try await rig.upstream.accept().request().body == "helloworld")
        }
    }

    @Test func `a credential that expires before the connection is ready is asked for anew`() async throws {
        try await withRig(Rig.Setup(credential: .sample(1, usableFor: .zero))) { rig in
            rig.credentials.hold(nil, for: Rig.account)
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            #expect(question.refused == nil)
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Authorization"] == "Bearer token-2")
        }
    }

    @Test func `a dropped credential stops requests before their head leaves`() async throws {
        try await withRig { rig in
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.apply(.dropped(Rig.account))
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            question.answer(.failure(CredentialError(.killed, "killed")))
            #expect(try await caller.answer().head.status == 503)
        }
    }
}
