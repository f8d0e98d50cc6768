import Logging
import Telemetry
import TestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct LogWriterTests {
    @Test func `lines of many threads all arrive complete, in the order of each thread`() async throws {
        let log = try Log(.json)
        let logger = log.logger()
        await withTaskGroup { tasks in
            for task in 0..<8 {
                tasks.addTask {
                    for number in 0..<100 { logger.info("line", metadata: ["from": "\(task)", "number": "\(number)"]) }
                }
            }
        }

        let lines = try await log.finished().split(separator: "\n")

        #expect(lines.count == 800)
        for task in 0..<8 {
            let own = lines.filter { $0.contains(#""from":"\#(task)""#) }
            #expect(
                own.compactMap { $0.firstMatch(of: /"number":"(\d+)"/)?.output.1 } == (0..<100).map { "\($0)"[...] }
            )
        }
    }

    @Test func `an output that nobody reads does not block loggers, and the log says what it lost`() async throws {
        // Given a full pipe
        let directory = try TemporaryDirectory()
        let pipe = try StuckPipe("log", in: directory)
        let descriptor = try pipe.openForWriting()
        defer { close(descriptor) }
        let writer = LogWriter(
            to: LogOutput(descriptor: descriptor),
            format: .json,
            limits: LogLimits(lines: 100, bytes: 1 << 20)
        ) { .sample }
        let logger = Logger(label: "test") { _ in
            QueuedLogHandler(writer, threshold: LogThreshold(.info)) { LogClock.sample.now }
        }

        // When far more lines are logged than the queue holds
        for number in 0..<5_000 { logger.info("line", metadata: ["number": "\(number)"]) }

        // Then logging returns, and closing the log ends at its time limit
        #expect(await writer.close(within: .milliseconds(50)) == false)

        // When somebody reads the pipe at last
        let read = Transcript()
        try await eventually("the log to be written") {
            let isIdle = writer.isIdle
            _ = read.add(pipe.read())
            return isIdle
        }

        // Then the queued lines arrive, and the number of lost lines
        let lines = read.add("").split(separator: "\n")
        let lost = lines.compactMap { $0.firstMatch(of: /"log.lost":(\d+)/)?.output.1 }.compactMap { Int($0) }
        let written = lines.count { $0.contains("\"message\":\"line\"") }
        #expect(written >= 100)
        #expect(written + lost.reduce(0, +) == 5_000)
        #expect(lines.last?.contains("lines of the log were lost") == true)
        #expect(await writer.close(within: .seconds(60)))
    }

    @Test func `an output whose reader has gone does not end the process, and the log keeps trying`() async throws {
        var ends: [CInt] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        close(ends[0])
        let writer = LogWriter(to: LogOutput(descriptor: ends[1]), format: .json) { .sample }
        let logger = Logger(label: "test") { _ in
            QueuedLogHandler(writer, threshold: LogThreshold(.info)) { LogClock.sample.now }
        }
        for _ in 0..<100 { logger.info("to nobody") }
        #expect(await writer.close(within: .seconds(60)))
        close(ends[1])
    }

    @Test func `a full disk loses lines, and the log says how many when there is space again`() async throws {
        // Given an output that accepts nothing, like /dev/full
        let output = try CapturedOutput()
        let full = unsafe open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        let original = dup(output.descriptor)
        try #require(dup2(full, output.descriptor) == output.descriptor)
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .json) { .sample }
        let logger = Logger(label: "test") { _ in
            QueuedLogHandler(log, threshold: LogThreshold(.info)) { LogClock.sample.now }
        }
        logger.info("one")
        logger.info("two")
        try await eventually("the queue to be empty") { log.isIdle }

        // When it has space again
        try #require(dup2(original, output.descriptor) == output.descriptor)
        logger.info("three")

        // Then the next line is written, and the log says how many were lost
        #expect(await log.close(within: .seconds(60)))
        let lines = output.lines
        #expect(lines.first?.contains("three") == true)
        #expect(lines.last?.contains(#""log.lost":2}"#) == true)
        close(full)
        close(original)
    }
}
