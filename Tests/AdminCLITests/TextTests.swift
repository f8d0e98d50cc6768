internal import AdminCLI
internal import Foundation
internal import Testing
internal import TextCoding

@Suite struct TextTests {
    @Test func `columns are as wide as their widest cell`() {
        var table = TextTable("NAME", "STATE", "NOTE")
        table.add(["a-long-name", "ok"])
        table.add(["b", "a longer state", "x", "left out"])
        #expect(
            table.lines == [
                "NAME         STATE           NOTE",
                "a-long-name  ok",
                "b            a longer state  x",
            ]
        )
    }

    @Test func `a table may be taken in parts, whose columns never get narrower`() {
        var table = TextTable("NAME", "STATE")
        table.add(["a-long-name", "ok"])
        #expect(table.takeLines() == ["NAME         STATE", "a-long-name  ok"])
        table.add(["b", "ok"])
        #expect(table.takeLines() == ["b            ok"])
        #expect(table.takeLines() == [])
        table.add(["an-even-longer-name", "ok"])
        #expect(table.takeLines() == ["an-even-longer-name  ok"])
    }

    @Test func `control characters are shown as escapes`() {
        var table = TextTable("NAME")
        table.add(["a\u{1B}[2Jb\nc\u{202E}"])
        #expect(table.lines == ["NAME", #"a\u{1b}[2Jb\u{a}c\u{202e}"#])
        var facts = FactList()
        facts.add("name", "a\rb")
        #expect(facts.lines == [#"name  a\u{d}b"#])
    }

    @Test(arguments: [
        (102, 0, 0, "103 records: 102 sealed anew under key k2, 1 under it already"),
        (103, 0, 0, "103 records: 103 sealed anew under key k2"),
        (100, 2, 1, "103 records: 100 sealed anew under key k2, 2 left as they are, 1 that do not open"),
        // A record that a gateway wrote under an old key during the rekey was encrypted anew twice.
        (104, 0, 0, "103 records: 104 sealed anew under key k2"),
    ])
    func `the result of a rekey is summarized in one line`(
        resealed: Int,
        left: Int,
        unreadable: Int,
        line: String
    ) {
        let text = ResealingText.line(records: 103, resealed: resealed, left: left, unreadable: unreadable, key: "k2")
        #expect(text == line)
    }

    @Test func `facts are listed one below the other`() {
        var facts = FactList()
        facts.add("a", "1")
        facts.add("longer", "2")
        #expect(facts.lines == ["a       1", "longer  2"])
    }

    @Test(arguments: [
        (0, "now"), (1, "in 1 s"), (89, "in 89 s"), (90, "in 2 min"), (-45, "45 s ago"), (3_240, "in 54 min"),
        (-5_399, "90 min ago"), (5_400, "in 2 h"), (-108_000, "30 h ago"), (129_600, "in 2 d"),
        (-8_640_000, "100 d ago"),
    ])
    func `a time is shown relative to now`(seconds: Int, text: String) throws {
        let now = Date(timeIntervalSince1970: 1_763_683_200)
        let moment = Date(timeIntervalSince1970: 1_763_683_200 + Double(seconds))
        let written = Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(moment)
        #expect(RelativeTime(now: now).text(written) == text)
        #expect(RelativeTime(now: now).longText(written) == "\(text) (\(written))")
    }

    @Test func `a missing time is a dash, and an invalid one is shown unchanged`() {
        #expect(RelativeTime(now: .now).text(nil) == "-")
        #expect(RelativeTime(now: .now).text("soon") == "soon")
    }

    @Test(arguments: [
        (Duration.seconds(30), "30 s"), (.zero, "0 s"), (.milliseconds(500), "500 ms"), (.seconds(90), "90 s"),
    ])
    func `a grace period is shown in seconds, or in milliseconds if needed`(grace: Duration, text: String) {
        #expect(DurationText.text(of: grace) == text)
    }
}
