import Foundation
import Logging
import Telemetry
import TestKit
import Testing

@Suite struct QueuedLogHandlerTests {
    /// Texts that try to break a log line.
    private static let hostile = [
        "a\nb", "a\r\n{\"level\":\"error\"}", "\u{1B}[31mred", "\u{0}", "\u{7F}", "\u{85}", "\u{2028}x\u{2029}",
        "\u{202E}drow", "\"", "\\", "\\\"", "a=b", "", " ", "ä🙂", "\u{E0041}",
    ]

    private static let time = "2025-11-21T00:00:00.123Z"

    @Test func `a JSON line has time, level and message, then the metadata`() async throws {
        let log = try Log(.json)
        var logger = log.logger()
        logger[metadataKey: "b"] = "own"
        logger.warning(
            "it rains",
            metadata: ["a": "1", "c": .stringConvertible(7), "d": ["x", ["k": "v"]], "e": "\(true)"]
        )
        #expect(
            try await log.finished() == """
                {"time":"\(Self.time)","level":"warning","message":"it rains","a":"1","b":"own","c":7,"d":["x",{"k":"v"}],"e":"true"}

                """
        )
    }

    @Test func `a number stays a number in a JSON line, whatever its width`() async throws {
        let log = try Log(.json)
        log.logger().info(
            "counted",
            metadata: [
                "a": .stringConvertible(401), "b": .stringConvertible(-3 as Int64),
                "c": .stringConvertible(7 as UInt64),
            ]
        )
        #expect(try await log.finished().contains(#""a":401,"b":-3,"c":7}"#))
    }

    @Test func `existing loggers follow a changed level and format`() async throws {
        let log = try Log(.json)
        let threshold = LogThreshold(.warning)
        let logger = Logger(label: "test") { _ in
            QueuedLogHandler(log.writer, threshold: threshold) { LogClock.sample.now }
        }
        var own = logger
        own.logLevel = .error
        logger.info("not yet")
        threshold.level = .debug
        logger.debug("now")
        own.info("never")
        log.writer.format = .text
        logger.info("later")

        let lines = try await log.finished().split(separator: "\n")

        #expect(lines.count == 2)
        #expect(lines.first?.contains(#""message":"now""#) == true)
        #expect(lines.last == "\(Self.time) info later")
    }

    @Test func `a text line has the same content`() async throws {
        let log = try Log(.text)
        log.logger().info("it rains", metadata: ["a": "1", "b": "two words", "c": .stringConvertible(7), "d": ["x"]])
        let line = #"\#(Self.time) info it rains a=1 b="two words" c=7 d="[\"x\"]""#
        #expect(try await log.finished() == line + "\n")
    }

    @Test(arguments: hostile)
    func `no text breaks its JSON line, and each text is decoded unchanged`(text: String) async throws {
        let log = try Log(.json)
        log.logger().info("\(text)", metadata: ["key": "\(text)", "\(text)": "value", "list": ["\(text)"]])

        let line = try await log.finished()

        #expect(line.unicodeScalars.dropLast().allSatisfy(Self.isHarmless))
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
        let members = try #require(object as? [String: Any])
        #expect(members["message"] as? String == text)
        #expect(members["key"] as? String == text)
        #expect(members[text] as? String == "value")
        #expect(members["list"] as? [String] == [text])
        #expect(members["level"] as? String == "info")
    }

    @Test(arguments: hostile)
    func `no text breaks its text line or looks like metadata`(text: String) async throws {
        let log = try Log(.text)
        log.logger().info("\(text)", metadata: ["key": "\(text)", "\(text)": "value"])
        let line = try await log.finished()
        #expect(line.unicodeScalars.dropLast().allSatisfy(Self.isHarmless))
        #expect(!line.contains(" a=b"))
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    @Test(arguments: ["time", "level", "message"])
    func `metadata does not replace the standard members of a line`(key: String) async throws {
        let log = try Log(.json)
        log.logger().info("said", metadata: [key: "forged"])
        let line = try await log.finished()
        #expect(line.contains(#""\#(key)_":"forged""#))
        #expect(line.hasPrefix(#"{"time":"\#(Self.time)","level":"info","message":"said","#))
    }

    @Test func `a text of a megabyte is truncated`() async throws {
        let log = try Log(.json)
        log.logger().info("long", metadata: ["a": "\(String(repeating: "x", count: 1 << 20))", "b": "behind"])
        let line = try await log.finished()
        #expect(line.utf8.count < 10_000)
        #expect(line.contains("…\",\"b\":\"behind\"}"))
    }

    @Test func `messages below the level are not written`() async throws {
        let log = try Log(.json)
        log.logger(.warning).info("quiet")
        log.logger(.warning).error("loud")
        #expect(try await log.finished().contains("loud"))
        #expect(!log.output.text.contains("quiet"))
    }

    @Test func `only the type of an error is shown`() async throws {
        struct Trouble: Error { let secret = "canary" }
        let log = try Log(.json)
        log.logger().error("it broke", error: Trouble())
        let line = try await log.finished()
        #expect(line.contains(#""error.type":"Trouble""#))
        #expect(!line.contains("canary"))
    }
}
