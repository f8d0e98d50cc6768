import NIOCore
import Proxy
import Testing

@Suite struct LoadTests {
    @Test(arguments: [1, 2])
    func `500 requests on 50 connections each get their own response`(eventLoops: Int) async throws {
        try await withRig(Rig.Setup(eventLoops: eventLoops)) { rig in
            let answers = Mailbox<Bool>()
            let accepting = Task {
                await withTaskGroup(of: Void.self) { connections in
                    while let upstream = try? await rig.upstream.accept() {
                        connections.addTask { await Self.echo(upstream) }
                    }
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { callers in
                for number in 1...50 {
                    callers.addTask {
                        let caller = try await rig.caller()
                        for round in 1...10 {
                            let body =
                                "\(number)-\(round)-" + String(repeating: "x", count: (number * round * 97) % 20_000)
                            try await caller.send(
                                "POST /acme/\(number)/\(round) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                            )
                            let answer = try await caller.answer()
                            answers.put(answer.body == "POST /v2/\(number)/\(round) Bearer token-1 \(body)")
                        }
                        caller.close()
                    }
                }
                try await callers.waitForAll()
            }
            #expect(answers.takeAll() == Array(repeating: true, count: 500))
            #expect(rig.upstream.connections <= 50)
            #expect(await rig.server.shutDown(grace: patience))
            accepting.cancel()
            await accepting.value
        }
    }

    /// Responds to each request with the request's own content.
    private static func echo(_ upstream: Peer) async {
        while let request = try? await upstream.request() {
            let body = "\(request.head.request) \(request.head["Authorization"] ?? "none") \(request.body)"
            try? await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }
}
