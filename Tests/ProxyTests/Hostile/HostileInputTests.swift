import NIOCore
import Proxy
import Testing

/// Sends each row of the table of hostile input over real sockets. A refused request reaches no upstream, and an
/// accepted one arrives as it must.
@Suite struct HostileInputTests {
    private static let probe = "GET /acme/probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    private static let smuggled = "GET /acme/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

    @Test(arguments: HostileRow.allCases)
    func `nothing of a refused request reaches an upstream, and the connection ends`(row: HostileRow) async throws {
        let cases = HostileCase.all.compactMap { hostile -> (HostileCase, GatewayError.Code)? in
            guard hostile.row == row, case .refused(let code) = hostile.outcome else { return nil }
            return (hostile, code)
        }
        guard !cases.isEmpty else { return }
        try await withRig { rig in
            for (hostile, code) in cases { try await self.expectRefusal(of: hostile, code, by: rig) }
            #expect(rig.upstream.connections == 0)

            // The requests are sent once more, each in two pieces, while an idle connection to the upstream exists.
            let upstream = try await self.probe(rig)
            for (hostile, code) in cases { try await self.expectRefusal(of: hostile, code, by: rig, inPieces: true) }
            _ = try await self.probe(rig, through: upstream)
            #expect(rig.upstream.connections == 1)
        }
    }

    /// Sends a valid request, and expects that no byte has reached the upstream before it.
    private func probe(_ rig: Rig, through known: Peer? = nil) async throws -> Peer {
        let caller = try await rig.caller()
        try await caller.send(Self.probe)
        let upstream = if let known { known } else { try await rig.upstream.accept() }
        try await upstream.expect(PassedRequest("GET /v2/probe"), port: rig.upstream.port)
        try await upstream.send(Self.ok + "ok")
        #expect(try await caller.answer().body == "ok")
        caller.close()
        return upstream
    }

    private func expectRefusal(
        of hostile: HostileCase,
        _ code: GatewayError.Code,
        by rig: Rig,
        inPieces: Bool = false
    ) async throws {
        let caller = try await rig.caller()
        defer { caller.close() }
        var bytes = ByteBuffer(latin1: hostile.request + Self.smuggled)
        var pieces: [ByteBuffer] = []
        if inPieces, let piece = bytes.readSlice(length: hostile.request.unicodeScalars.count / 2) { pieces = [piece] }
        try await self.expectRefusal(hostile, code, of: pieces + [bytes], from: caller)
    }

    /// Expects the gateway's local reply, and the end of the connection after it.
    private func expectRefusal(
        _ hostile: HostileCase,
        _ code: GatewayError.Code,
        of pieces: [ByteBuffer],
        from caller: Peer
    ) async throws {
        let comment = Comment(rawValue: hostile.testDescription)
        let (bytes, ending) = try await caller.rest(sending: pieces)
        let (head, body) = try Message.whole(bytes)
        #expect(head.status == GatewayError(code, "").status.code, comment)
        #expect(head["Connection"] == "close", comment)
        #expect(body.contains("\"urn:martlet:error:\(code.rawValue)\""), comment)
        #expect(!body.contains("canary"), comment)
        #expect(ending == .clean, comment)
    }

    @Test(arguments: HostileRow.allCases)
    func `a request that is cut within its body never ends at the upstream`(row: HostileRow) async throws {
        let cases = HostileCase.all.compactMap { hostile -> (HostileCase, GatewayError.Code, [String])? in
            guard hostile.row == row, case .cut(let code, let content) = hostile.outcome else { return nil }
            return (hostile, code, content)
        }
        guard !cases.isEmpty else { return }
        try await withRig { rig in
            // The gateway streams a body at once to an upstream that has just accepted the token.
            var idle: Peer? = try await self.probe(rig)
            for (hostile, code, content) in cases {
                let comment = Comment(rawValue: hostile.testDescription)
                let caller = try await rig.caller()
                defer { caller.close() }
                try await caller.send(
                    "POST /acme/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
                )
                let upstream = if let idle { idle } else { try await rig.upstream.accept() }
                idle = nil
                let head = PassedRequest("POST /v2/x", framing: "Transfer-Encoding: chunked")
                    .head(port: rig.upstream.port)
                #expect(try await upstream.bytes(expecting: head) == head, comment)
                #expect(try await upstream.bytes(expecting: "3\r\nabc\r\n") == "3\r\nabc\r\n", comment)

                let bytes = ByteBuffer(latin1: hostile.request + Self.smuggled)
                try await self.expectRefusal(hostile, code, of: [bytes], from: caller)
                let rest = try await upstream.rest().bytes.latin1
                let frames = content.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
                #expect(frames.hasPrefix(rest), comment)
                upstream.close()
            }
        }
    }

    @Test(arguments: HostileRow.allCases)
    func `an accepted request arrives byte for byte, except for what must change`(row: HostileRow) async throws {
        try await withRig { rig in
            var upstream: Peer?
            for hostile in HostileCase.all where hostile.row == row {
                guard case .credentials(let requests) = hostile.outcome else { continue }
                let comment = Comment(rawValue: hostile.testDescription)
                let caller = try await rig.caller()
                defer { caller.close() }
                try await caller.send(ByteBuffer(latin1: hostile.request))
                for request in requests {
                    let peer = if let upstream { upstream } else { try await rig.upstream.accept() }
                    upstream = peer
                    try await peer.expect(request, port: rig.upstream.port)
                    let isHead = request.line.hasPrefix("HEAD ")
                    try await peer.send(isHead ? Self.ok : Self.ok + "ok")
                    let head = try await caller.head()
                    #expect(head.status == 200, comment)
                    if !isHead { #expect(String(buffer: try await caller.body(of: head)) == "ok", comment) }
                }
            }
            guard let upstream else { return }
            _ = try await self.probe(rig, through: upstream)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `all rows are covered`() {
        let rows = Dictionary(grouping: HostileCase.all, by: \.row)
        for row in HostileRow.allCases { #expect(rows[row] != nil, "no case for the row \(row.rawValue)") }
        #expect(rows.count == 31)
        let names = Dictionary(grouping: HostileCase.all, by: \.testDescription)
        #expect(names.filter { $0.value.count > 1 }.keys.sorted() == [])
        print("hostile input: \(rows.count) rows, \(HostileCase.all.count) cases")
    }
}
