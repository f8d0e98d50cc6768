internal import AdminCLI
internal import Foundation
internal import Testing
internal import TokenModel

@Suite struct KillProgressTests {
    private let start = BootInstant(nanoseconds: 0)
    private let times = RelativeTime(now: Date(timeIntervalSince1970: 1_767_225_600))

    private static func kill(_ replicas: [(name: String, state: String, until: String?)]) throws -> KillReply {
        let replicas = replicas.map { replica in
            #"{"name":"\#(replica.name)","state":"\#(replica.state)","until":\#(replica.until.map { "\"\($0)\"" } ?? "null")}"#
        }
        let text = """
            {"id":"k","scope":{"all":true},"reason":"drill","state":"pending","replicas":[\(replicas.joined(separator: ","))],
            "tokens":{"total":0,"waiting":0,"in_flight":0,"revoked":0,"refused":0,"unsupported":0,"unreachable":0},
            "draining":0,"started_at":"2026-01-01T00:00:00.000Z","completed_at":null}
            """
        return try AdminReply(httpStatus: 200, body: Array(text.utf8)).read()
    }

    private static func waitingForB() throws -> KillReply {
        try Self.kill([("a", "acknowledged", nil), ("b", "pending", "2026-01-01T00:00:08.000Z"), ("c", "gone", nil)])
    }

    @Test func `missing replicas are named with the end of their lease, again every five seconds`() throws {
        var progress = KillProgress(isTerminal: false)
        let kill = try Self.waitingForB()
        let texts = (0...7).map { second in
            progress.text(kill, times: self.times, now: self.start.advanced(by: .seconds(second)))
        }
        let line = "martlet: pending: waiting for b (its lease ends in 8 s)\n"
        #expect(texts == [line, nil, nil, nil, nil, line, nil, nil])
        #expect(progress.end == nil)
    }

    @Test func `a change of the missing replicas is reported at once`() throws {
        var progress = KillProgress(isTerminal: false)
        let first = try Self.kill([("a", "pending", nil), ("b", "pending", nil)])
        #expect(progress.text(first, times: self.times, now: self.start) != nil)
        let second = progress.text(try Self.waitingForB(), times: self.times, now: self.start)
        #expect(second?.contains("waiting for b (") == true)
    }

    @Test func `on a terminal the line is overwritten, and removed at the end`() throws {
        var progress = KillProgress(isTerminal: true)
        #expect(progress.end == nil)
        for _ in 0..<2 {
            let text = progress.text(try Self.waitingForB(), times: self.times, now: self.start)
            #expect(text == "\r\u{1B}[Kpending: waiting for b (its lease ends in 8 s)")
        }
        #expect(progress.end == "\r\u{1B}[K")
    }

    @Test func `nothing is printed for a kill without missing replicas, or for an unknown one`() throws {
        var progress = KillProgress(isTerminal: false)
        #expect(progress.text(nil, times: self.times, now: self.start) == nil)
        let done = try Self.kill([("a", "acknowledged", nil)])
        #expect(progress.text(done, times: self.times, now: self.start) == nil)
    }
}
