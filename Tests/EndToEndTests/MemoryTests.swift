import Foundation
import TestKit
import Testing

/// How much memory callers can make a gateway hold, as the operating system reports it.
@Suite struct MemoryTests {
    /// Resident memory in bytes.
    private func memory(_ gateway: Gateway) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(gateway.program.id)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }) << 10
    }

    /// The largest growth of the gateway's memory while `act` sends or counts bytes. The measurement ends after
    /// `limit`, or when 20 calls in a row return 0.
    private func growth(
        _ gateway: Gateway,
        limit: Duration = .seconds(4),
        _ act: () throws -> Int
    ) async throws -> (bytes: Int, sent: Int) {
        let before = try self.memory(gateway)
        var most = 0
        var sent = 0
        var idle = 0
        let deadline = ContinuousClock.now + limit
        while idle < 20, ContinuousClock.now < deadline {
            let count = try act()
            sent += count
            idle = count == 0 ? idle + 1 : 0
            most = max(most, try self.memory(gateway) - before)
            try await Task.sleep(for: .milliseconds(20))
        }
        return (most, sent)
    }

    @Test(arguments: [
        (
            "heads without an end", "GET /acme/echo HTTP/1.1\r\nHost: localhost\r\n",
            String(repeating: "X-A: b\r\n", count: 100)
        ),
        (
            "one field without an end", "GET /acme/echo HTTP/1.1\r\nHost: localhost\r\nX: ",
            String(repeating: "a", count: 4_096)
        ),
        (
            "requests whose answers are not read", "",
            String(repeating: "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 50)
        ),
        (
            "chunks of one byte",
            "POST /acme/delay/60000 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            String(repeating: "1\r\na\r\n", count: 1_000)
        ),
    ])
    func `I18_ 100 callers cost no more than a few buffers each, whatever they send`(
        what: String,
        beginning: String,
        piece: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let crowd = try Crowd(100, to: gateway.callers, receiveBuffer: 16 << 10)
        crowd.send(beginning)
        let (bytes, sent) = try await self.growth(gateway) { crowd.pour(piece) }
        // The kernel's buffers alone take more of the forwarded bytes than this limit.
        #expect(bytes < 100 * 256 << 10, "\(what): \(bytes) bytes for \(sent) sent")
    }

    @Test func `I18_ 100 callers that don't read large responses cost no more than a few buffers each`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let crowd = try Crowd(100, to: gateway.callers, receiveBuffer: 16 << 10)
        crowd.send("GET /acme/bytes/16777216 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        // Measure until all responses have begun, and a little longer.
        let (begun, _) = try await self.growth(gateway, limit: .seconds(100)) { crowd.peek().count { $0 == "" } }
        #expect(crowd.peek().allSatisfy { $0?.hasPrefix("HTTP/1.1 200 ") == true })
        // One read of the largest size each. The responses together are 64 times as large.
        #expect(begun < 100 * 256 << 10, "\(begun) bytes")
    }
}
