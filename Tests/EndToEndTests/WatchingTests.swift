import Foundation
import TestKit
import Testing

/// What operators see of a running gateway: metrics and the log, even if nobody reads the log.
@Suite struct WatchingTests {
    @Test func `metrics count requests, injections, replays, refreshes, accounts and the store`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        #expect(try await gateway.samples().contains(#"martlet_accounts{provider="mock",state="empty"} 1"#))
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(5, "echo") == ["200": 5])
        try await mock.expire()
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await gateway.statuses(2, "status/404") == ["404": 2])

        try await eventually("all requests to be counted") {
            let samples = try await gateway.samples()
            return samples.isSuperset(of: [
                #"martlet_requests_total{route="acme",status_class="2xx"} 6"#,
                #"martlet_requests_total{route="acme",status_class="4xx"} 2"#,
                #"martlet_requests_total{route="acme",status_class="5xx"} 0"#,
                #"martlet_request_duration_seconds_count{route="acme"} 8"#,
                #"martlet_injections_total{route="acme"} 9"#,
                #"martlet_replays_total{route="acme",outcome="answered"} 1"#,
                #"martlet_refreshes_total{provider="mock",outcome="success"} 1"#,
                #"martlet_refresh_duration_seconds_count{provider="mock"} 1"#,
                "martlet_refresh_waiters 0",
                #"martlet_accounts{provider="mock",state="valid"} 1"#,
                #"martlet_connections{side="downstream"} 0"#,
            ])
        }
        let samples = try await gateway.samples()
        #expect(samples.contains { $0.hasPrefix("martlet_build_info{version=") })
        let writes = samples.first { $0.hasPrefix(#"martlet_store_duration_seconds_count{operation="write"} "#) }
        #expect((writes?.split(separator: " ").last).flatMap { Int($0) } ?? 0 >= 3)
    }

    @Test func `metrics on the admin listener need its token`() async throws {
        let directory = try TemporaryDirectory()
        let gateway = try await Gateway(try await Mock(in: directory), in: directory)
        let file = try #require(directory.bytes(of: "state/admin.token"))
        let token = String(decoding: file, as: UTF8.self).split(separator: "\n")[0]
        let status = [
            "-q", "--noproxy", "*", "-s", "-o", "/dev/null", "-w", "%{http_code}", "\(gateway.admin)/metrics",
        ]

        let without = try await Program.run("/usr/bin/curl", status, in: directory)
        let with = try await Program.run(
            "/usr/bin/curl",
            status + ["-H", "Authorization: Bearer \(token)"],
            in: directory
        )

        #expect(without.output == "401")
        #expect(with.output == "200")
    }

    @Test func `the log is JSON with a line for each request, without paths, queries and tokens`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--opaque", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let grant = try await mock.grant("alice")
        let tokens = grant.matches(of: /_token"\s*:\s*"([^"]+)"/).map { String($0.output.1) }
        #expect(try await gateway.martlet("accounts", "import", "alice", input: grant).exitCode == 0)
        _ = try await gateway.curl("echo?canary=1", ["-H", "Authorization: Bearer canary", "-d", "canary"])
        _ = try await gateway.curl("canary")
        gateway.program.signal(15)
        let outcome = try await gateway.program.ended()
        #expect(outcome.exitCode == 0)

        var requests: [[String: Any]] = []
        for line in outcome.errors.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let members = try #require(object as? [String: Any])
            let time = try #require(members["time"] as? String)
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            #expect(members["level"] is String)
            if members["message"] as? String == "request" { requests.append(members) }
        }
        #expect(requests.count == 2)
        // Each event loop writes its own requests, so their order varies.
        requests.sort { $0["http.status"] as? Int ?? 0 < $1["http.status"] as? Int ?? 0 }
        #expect(requests.map { $0["http.method"] as? String } == ["POST", "GET"])
        #expect(requests.map { $0["http.status"] as? Int } == [200, 404])
        #expect(requests.map { $0["route.name"] as? String } == ["acme", "acme"])
        #expect(requests.map { $0["account.name"] as? String } == ["alice", "alice"])
        #expect(requests.map { $0["bytes_in"] as? Int } == [6, 0])
        for secret in tokens + ["canary", "mock-secret"] { #expect(!outcome.errors.contains(secret)) }
    }

    @Test func `requests and operators are served while the log pipe is blocked`() async throws {
        // Given a gateway whose standard error is a full pipe that nobody reads
        let directory = try TemporaryDirectory()
        let pipe = try StuckPipe("log", in: directory)
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory, log: pipe.path)
        try await gateway.importGrant(from: mock)

        // When it handles thousands of requests with a log line each, then it responds to all of them
        let count = 2_000
        let statuses = try await gateway.curl(
            "status/204?n=[1-\(count)]",
            ["-Z", "--parallel-max", "50", "-o", "/dev/null", "-w", "%{http_code}\\n"],
            limit: .seconds(300)
        )
        #expect(statuses.split(separator: "\n").count { $0 == "204" } == count)

        // And tokens are refreshed, and operators are served
        try await mock.expire()
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)
        try await eventually("all requests to be counted") {
            try await gateway.samples().contains(
                #"martlet_requests_total{route="acme",status_class="2xx"} \#(count + 1)"#
            )
        }

        // When somebody reads the pipe at last, then all lines arrive: the queue had space for them
        let log = LogTally()
        try await eventually("the log to be written") {
            log.add(pipe.read())
            return log.requests > count
        }
        #expect(log.requests == count + 1)
        #expect(log.lost == 0)
    }

    @Test func `a blocked log pipe does not keep the program from ending`() async throws {
        let directory = try TemporaryDirectory()
        let pipe = try StuckPipe("log", in: directory)
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, log: pipe.path)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(10, "echo") == ["200": 10])

        gateway.program.signal(15)

        try await eventually("the program to end") { !gateway.program.isRunning }
        #expect(gateway.program.exitCode == 0)
    }

    @Test func `a metrics address that is in use keeps the gateway from starting`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        try Gateway.configure(mock.address, in: directory)
        let text = String(decoding: try #require(directory.bytes(of: "martlet.yaml")), as: UTF8.self)
        let port = try #require(mock.address.split(separator: ":").last)
        let busy = text.replacing("metrics: { address: 127.0.0.1:0 }", with: "metrics: { address: 127.0.0.1:\(port) }")
        try directory.write(Array(busy.utf8), to: "martlet.yaml")

        let outcome = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)

        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("change metrics.address"))
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
    }
}
