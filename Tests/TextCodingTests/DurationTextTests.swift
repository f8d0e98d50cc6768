import Testing
import TextCoding

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("0s", Duration.zero), ("500ms", .milliseconds(500)), ("8s", .seconds(8)), ("5m", .seconds(300)),
        ("1h", .seconds(3_600)), ("1000000h", .seconds(3_600_000_000)),
    ])
    func `a number with a unit is read as a duration`(text: String, duration: Duration) {
        #expect(DurationText.parse(text) == duration)
    }

    @Test(arguments: [
        "", "s", "3", "-3s", "+3s", "1.5s", "3 s", "3S", "3d", "3s3s", "٣s", "1000001h", "99999999999999999999s",
        "9223372036854775807h",
    ])
    func `any other text is refused`(text: String) {
        #expect(DurationText.parse(text) == nil)
    }
}
