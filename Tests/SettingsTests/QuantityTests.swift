import Settings
import Testing

@Suite struct QuantityTests {
    @Test(arguments: [
        ("500ms", Duration.milliseconds(500)), ("8s", .seconds(8)), ("5m", .seconds(300)), ("24h", .seconds(86_400)),
        ("1ms", .milliseconds(1)), ("086400s", .seconds(86_400)),
    ])
    func `a duration is a number with its unit`(text: String, duration: Duration) throws {
        let settings = try settings(of: SampleFile().route("timeouts: { idle: \(text) }").text)
        #expect(settings.routes.first?.timeouts.idle == duration)
    }

    @Test(arguments: [
        ("5", "has no unit; write a duration such as 500ms, 8s, 5m or 24h"),
        ("0", "has no unit; write a duration such as 500ms, 8s, 5m or 24h"),
        ("5d", "has an unknown unit (there are ms, s, m, h); write a duration such as 500ms, 8s, 5m or 24h"),
        ("5 s", "has an unknown unit (there are ms, s, m, h); write a duration such as 500ms, 8s, 5m or 24h"),
        ("5S", "has an unknown unit (there are ms, s, m, h); write a duration such as 500ms, 8s, 5m or 24h"),
        ("1.5s", "has an unknown unit (there are ms, s, m, h); write a duration such as 500ms, 8s, 5m or 24h"),
        ("s", "expected a duration such as 500ms, 8s, 5m or 24h"),
        ("-5s", "expected a duration such as 500ms, 8s, 5m or 24h"),
        ("٣s", "expected a duration such as 500ms, 8s, 5m or 24h"),
        ("99999999999999999999s", "is too large"),
        ("9223372036854775807h", "is too large"),
        ("0s", "must be between 1ms and 24h"),
        ("25h", "must be between 1ms and 24h"),
    ])
    func `a malformed duration is reported with examples`(text: String, message: String) {
        let file = SampleFile().route("timeouts: { idle: \(text) }")
        #expect(faults(of: file.text) == ["12:23: routes[0].timeouts.idle: \(message)"])
    }

    @Test(arguments: [("0B", 0), ("512B", 512), ("64KiB", 65_536), ("1MiB", 1_048_576)])
    func `a size is a number with its unit`(text: String, size: Int) throws {
        let settings = try settings(of: SampleFile().route("replay: { body_limit: \(text) }").text)
        #expect(settings.routes.first?.replayBodyLimit == size)
    }

    @Test(arguments: [
        ("65536", "has no unit; write a size such as 512B, 64KiB or 1MiB"),
        ("64KB", "has an unknown unit (there are B, KiB, MiB, GiB); write a size such as 512B, 64KiB or 1MiB"),
        ("KiB", "expected a size such as 512B, 64KiB or 1MiB"),
        ("9223372036854775807GiB", "is too large"),
        ("1GiB", "must be between 0B and 64MiB"),
    ])
    func `a malformed size is reported with examples`(text: String, message: String) {
        let file = SampleFile().route("replay: { body_limit: \(text) }")
        #expect(faults(of: file.text) == ["12:27: routes[0].replay.body_limit: \(message)"])
    }

    @Test(arguments: [
        ("shutdown_grace: 61m", "12:17: shutdown_grace: must be between 0s and 1h"),
        ("limits: { head: 255B }", "12:17: limits.head: must be between 256B and 1MiB"),
        ("limits: { waiters: 0 }", "12:20: limits.waiters: must be between 1 and 1000000"),
        ("limits: { connections: 0 }", "12:24: limits.connections: must be between 1 and 1000000"),
        (
            "limits: { connections_per_address: 1000001 }",
            "12:36: limits.connections_per_address: must be between 0 and 1000000"
        ),
        ("limits: { head_memory: 1023KiB }", "12:24: limits.head_memory: must be between 1MiB and 64GiB"),
        ("limits: { replay_memory: 65GiB }", "12:26: limits.replay_memory: must be between 0B and 64GiB"),
        ("limits: { header_timeout: 99ms }", "12:27: limits.header_timeout: must be between 100ms and 10m"),
        ("limits: { handshake_timeout: 11m }", "12:30: limits.handshake_timeout: must be between 100ms and 10m"),
        ("limits: { body_rate: 2MiB }", "12:22: limits.body_rate: must be between 0B and 1MiB"),
        ("limits: { idle_timeout: 25h }", "12:25: limits.idle_timeout: must be between 100ms and 24h"),
    ])
    func `a value out of range is reported with the valid range`(line: String, fault: String) {
        #expect(faults(of: SampleFile().adding(line).text) == [fault])
    }
}
