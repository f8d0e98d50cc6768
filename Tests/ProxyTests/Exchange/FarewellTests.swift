import Proxy
import TestKit
import Testing

/// Upstreams that send 408 as they close an idle connection (RFC 9110 §15.5.9).
@Suite struct FarewellTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let farewell = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 4\r\n\r\nidle"

    @Test(arguments: ["GET", "PUT"])
    func `a farewell that meets the next request is no response to it, and the request is sent again`(method: String)
        async throws
    {
        try await withRig(.route { $0.replayBodyLimit = 1_000 }) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            let body = method == "PUT" ? "hello".framed(false) : "\r\n"
            try await caller.send("\(method) /acme/again HTTP/1.1\r\nHost: a\r\n\(body)")
            _ = try await upstream.head()
            try await upstream.send(Self.farewell)
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.request().head.request == "\(method) /v2/again")
            try await fresh.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
        }
    }

    @Test func `I10_ after bytes of a request that is not idempotent, the farewell is its response`() async throws {
        try await withRig(.route { $0.replayBodyLimit = 1_000 }) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            try await caller.send("POST /acme/once HTTP/1.1\r\nHost: a\r\n" + "hello".framed(false))
            _ = try await upstream.request()
            try await upstream.send(Self.farewell)
            #expect(try await caller.answer().head.status == 408)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nslow", true),
        ("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 4\r\n\r\nslow", false),
    ])
    func `a 408 on a connection that stays, or that was never idle, is the response`(
        response: String,
        isReused: Bool
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            if isReused {
                try await upstream.send(Self.ok)
                _ = try await caller.answer()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await upstream.head()
            }
            try await upstream.send(response)
            #expect(try await caller.answer().head.status == 408)
            #expect(rig.upstream.connections == 1)
        }
    }
}
