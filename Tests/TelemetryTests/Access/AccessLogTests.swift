import Telemetry
import TestKit
import Testing
import TokenModel

@Suite struct AccessLogTests {
    private static let end = BootInstant(nanoseconds: 2_346_678)

    @Test func `a request is one line of JSON`() async throws {
        let log = try Log(.json)
        let meter = LoopMeter(routes: ["acme"], log: log.writer)
        let record = RequestRecord.sample(route: 1, status: 201, replay: .answered) {
            $0.account = AccountID("alice")
            $0.caller = "reports"
            $0.bytesIn = 7
            $0.bytesOut = 11
        }
        meter.ended(record, at: Self.end)
        meter.handOn()
        #expect(
            try await log.finished() == """
                {"time":"2025-11-20T23:59:58.126Z","level":"info","message":"request","http.method":"GET",\
                "route.name":"acme","caller.name":"reports","account.name":"alice","http.status":201,"duration_ms":1.346,"bytes_in":7,\
                "bytes_out":11,"replayed":true}

                """
        )
    }

    @Test func `the log marks a request without a complete response, and names the error of a local reply`()
        async throws
    {
        let log = try Log(.text)
        let meter = LoopMeter(routes: ["acme"], log: log.writer)
        meter.ended(.sample(status: 0) { $0.isWhole = false }, at: Self.end)
        meter.ended(.sample(status: 404) { $0.error = "no_route" }, at: Self.end)
        meter.handOn()
        let time = "2025-11-20T23:59:58.126Z info request http.method=GET"
        let rest = "duration_ms=1.346 bytes_in=0 bytes_out=0 replayed=false"
        #expect(
            try await log.finished() == """
                \(time) \(rest) aborted=true
                \(time) http.status=404 \(rest) error.code=no_route

                """
        )
    }

    @Test func `a full batch is logged at once, and the rest when it is handed on`() async throws {
        let log = try Log(.json)
        let meter = LoopMeter(routes: [], log: log.writer)
        for _ in 0..<100 { meter.ended(.sample(), at: Self.end) }
        try await eventually("the first batch") { log.output.lines.count == 64 }
        meter.handOn()
        try await eventually("the rest") { log.output.lines.count == 100 }
        meter.close()
        meter.ended(.sample(), at: Self.end)
        #expect(try await log.finished().split(separator: "\n").count == 101)
    }

    @Test func `requests beyond the queue limit are counted as lost`() async throws {
        let directory = try TemporaryDirectory()
        let pipe = try StuckPipe("log", in: directory)
        let descriptor = try pipe.openForWriting()
        let writer = LogWriter(
            to: LogOutput(descriptor: descriptor),
            format: .json,
            limits: LogLimits(lines: 200, bytes: 1 << 20)
        ) { .sample }
        let meter = LoopMeter(routes: [], log: writer)
        for _ in 0..<10_000 { meter.ended(.sample(), at: Self.end) }
        meter.close()
        #expect(meter.counts.routes[0][.successful] == 10_000)

        let text = Transcript()
        try await eventually("the log to be written") {
            let isIdle = writer.isIdle
            _ = text.add(pipe.read())
            return isIdle
        }

        let lines = text.add("").split(separator: "\n")
        let written = lines.count { $0.contains(#""message":"request""#) }
        let lost = lines.compactMap { $0.firstMatch(of: /"log.lost":(\d+)/)?.output.1 }.compactMap { Int($0) }
        // Requests may fill three quarters of the queue.
        #expect(written >= 150)
        #expect(written + lost.reduce(0, +) == 10_000)
        #expect(await writer.close(within: .seconds(60)))
    }
}
