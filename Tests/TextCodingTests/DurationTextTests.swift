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

@Suite struct GroupedNumberTests {
    @Test(arguments: [
        (0, "0"), (7, "7"), (999, "999"), (1_000, "1,000"), (98_214, "98,214"), (1_000_000, "1,000,000"),
        (-12_345, "-12,345"), (Int.min, "-9,223,372,036,854,775,808"),
    ])
    func `a number has a comma between each three digits`(number: Int, text: String) {
        #expect(number.grouped == text)
    }
}
