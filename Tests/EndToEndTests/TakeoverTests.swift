import Foundation
import Synchronization
import TestKit
import Testing

/// A second gateway that takes over the ports of a first one.
@Suite struct TakeoverTests {
    /// Tells the workers when to stop, and counts their responses.
    private final class Shift: Sendable {
        private let isOver = Mutex(false)
        private let answers = Mutex(0)

        var goesOn: Bool { !self.isOver.withLock { $0 } }
        var answered: Int { self.answers.withLock { $0 } }

        func end() { self.isOver.withLock { $0 = true } }
        func add(_ count: Int) { self.answers.withLock { $0 += count } }
    }

    /// Sends runs of 50 requests until the shift is over.
    ///
    /// - Returns: a line with curl's reason for each request without status code 200.
    private static func work(_ arguments: [String], _ shift: Shift, in directory: TemporaryDirectory) async throws
        -> [String]
    {
        var failed: [String] = []
        while shift.goesOn {
            let outcome = try await Program.run(
                "/usr/bin/curl",
                ["-q", "--noproxy", "*", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{errormsg}\\n"] + arguments,
                in: directory
            )
            let lines = outcome.output.split(separator: "\n").map(String.init)
            failed += lines.filter { !$0.hasPrefix("200 ") }
            shift.add(lines.count)
        }
        return failed
    }

    /// Writes the configuration of the first gateway with the ports that it was assigned.
    private static func successor(of gateway: Gateway, in directory: TemporaryDirectory) throws {
        let text = String(decoding: try #require(directory.bytes(of: "martlet.yaml")), as: UTF8.self)
        let addresses = [gateway.callers, gateway.admin, gateway.metrics].map { $0.dropFirst("http://".count) }
        let successor = zip(["listeners: [{", "admin: {", "metrics: {"], addresses).reduce(text) { text, part in
            text.replacing("\(part.0) address: 127.0.0.1:0", with: "\(part.0) address: \(part.1)")
        }
        try directory.write(Array(successor.utf8), to: "successor.yaml")
    }

    @Test(.enabled("needs root, and ip of iproute2: see scripts/setup") { try await OwnNetwork.isAvailable() })
    func `no request fails while the older gateway stops, over TCP and over a Unix socket`() async throws {
        let directory = try TemporaryDirectory()
        let place = try #require(try await OwnNetwork.enter(in: directory))
        let failures = try await Program.$wrapper.withValue(place.wrapper) {
            try await Self.takeOver(in: directory)
        }
        #expect(failures.isEmpty, "\(failures)")
    }

    /// Without `net.ipv4.tcp_migrate_req`, the kernel may reset a connection.
    @Test(.disabled("the stricter test of this can run here") { try await OwnNetwork.isAvailable() })
    func `at most two requests fail while the older gateway stops on this machine's own network`() async throws {
        let failures = try await Self.takeOver(in: TemporaryDirectory())
        #expect(failures.count <= 2, "\(failures)")
    }

    /// Lets a second gateway take over from a first one during requests.
    ///
    /// - Returns: the requests that failed.
    private static func takeOver(in directory: TemporaryDirectory) async throws -> [String] {
        // Given a gateway that serves
        let socket = directory.path(of: "m.sock")
        let mock = try await Mock("--access-ttl", "1h", in: directory)
        let first = try await Gateway(mock, in: directory, listener: "127.0.0.1:0 }, { address: unix:\(socket)")
        try await first.importGrant(from: mock)
        #expect(try await first.statuses(1, "echo") == ["200": 1])
        try Self.successor(of: first, in: directory)
        // And callers that send requests all the time: on new connections, on a persistent connection and over the
        // socket
        let shift = Shift()
        let path = "acme/status/200?n=[1-50]"
        let failures: [String] = try await withThrowingTaskGroup(of: [String].self) { workers in
            for arguments in [
                ["-H", "Connection: close", "\(first.callers)/\(path)"],
                ["-H", "Connection: close", "\(first.callers)/\(path)"],
                ["\(first.callers)/\(path)"],
                ["-H", "Connection: close", "--unix-socket", socket, "http://localhost/\(path)"],
            ] {
                workers.addTask { try await Self.work(arguments, shift, in: directory) }
            }
            try await eventually("some requests") { shift.answered > 200 }
            // When another gateway takes over, and the first one is stopped
            let second = try Program(
                "martlet",
                ["serve", "--config", "successor.yaml", "--takeover"],
                in: directory
            )
            #expect(try await second.address(behind: "callers: ") == first.callers)
            let both = shift.answered
            try await eventually("requests to both") { shift.answered > both + 400 }
            first.program.signal(15)
            let gone = try await first.program.ended()
            #expect(gone.exitCode == 0, "\(gone.errors)")
            let alone = shift.answered
            try await eventually("requests to the second alone") { shift.answered > alone + 200 }
            shift.end()
            // Then operators reach the second gateway at the addresses of the first
            #expect(try await first.martlet("status").exitCode == 0)
            #expect(try await !first.samples().isEmpty)
            let failed = try await workers.reduce(into: [String]()) { $0 += $1 }
            second.signal(15)
            let ended = try await second.ended()
            #expect(ended.exitCode == 0, "\(ended.errors)")
            return failed
        }
        #expect(!FileManager.default.fileExists(atPath: socket))
        return failures
    }

    @Test(arguments: ["listeners: [{", "admin: {", "metrics: {"])
    func `without --takeover a second gateway reports that the port is busy`(part: String) async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let first = try await Gateway(mock, in: directory)
        try Self.successor(of: first, in: directory)
        // Only this listener has the port of the first gateway.
        let text = String(decoding: try #require(directory.bytes(of: "successor.yaml")), as: UTF8.self)
        let lines = text.split(separator: "\n").map { line in
            line.contains(" address: 127.0.0.1:") && !line.hasPrefix(part)
                ? String(line).replacing(/127\.0\.0\.1:\d+/, with: "127.0.0.1:0") : String(line)
        }
        try directory.write(Array(lines.joined(separator: "\n").utf8), to: "successor.yaml")

        let outcome = try await Program.run("martlet", ["serve", "--config", "successor.yaml"], in: directory)

        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("another process listens there"), "\(outcome.errors)")
    }
}
