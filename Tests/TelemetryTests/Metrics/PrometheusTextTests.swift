import Telemetry
import Testing

@Suite struct PrometheusTextTests {
    @Test func `a metric has its help, its type and its samples`() {
        var text = PrometheusText()
        text.begin("a_total", .counter, "Of everything.")
        text.sample(["route": "x", "kind": "y"], 3)
        text.sample([:], 0)
        text.begin("b", .gauge, "Now.")
        text.sample([:], -1)
        #expect(
            text.text == """
                # HELP a_total Of everything.
                # TYPE a_total counter
                a_total{route="x",kind="y"} 3
                a_total 0
                # HELP b Now.
                # TYPE b gauge
                b -1

                """
        )
    }

    @Test(arguments: [
        (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#), (#"\n"#, #"\\n"#), ("ä{},=", "ä{},="), ("", ""),
        ("x\"} 1\nforged{a=\"b", #"x\"} 1\nforged{a=\"b"#),
    ])
    func `a label's value can't break out of its quotes`(value: String, shown: String) {
        var text = PrometheusText()
        text.begin("a", .gauge, "")
        text.sample(["l": value], 1)
        #expect(text.text == "# HELP a \n# TYPE a gauge\na{l=\"\(shown)\"} 1\n")
    }

    @Test func `help text stays on one line`() {
        var text = PrometheusText()
        text.begin("a", .gauge, "one\ntwo \\ \"three\"")
        #expect(text.text == "# HELP a one\\ntwo \\\\ \"three\"\n# TYPE a gauge\n")
    }

    @Test func `a histogram's buckets are cumulative, and the last one counts everything`() {
        var durations = DurationCounts()
        for microseconds: Int64 in [400, 500, 501, 40_000_000] { durations.add(nanoseconds: microseconds * 1_000) }
        var text = PrometheusText()
        text.begin("d_seconds", .histogram, "How long.")
        text.sample(["route": "x"], durations)

        let lines = text.text.split(separator: "\n").map(String.init)

        #expect(lines[2] == #"d_seconds_bucket{route="x",le="0.0005"} 2"#)
        #expect(lines[3] == #"d_seconds_bucket{route="x",le="0.001"} 3"#)
        #expect(lines.contains(#"d_seconds_bucket{route="x",le="30.0"} 3"#))
        #expect(
            lines.suffix(3) == [
                #"d_seconds_bucket{route="x",le="+Inf"} 4"#, #"d_seconds_sum{route="x"} 40.001401"#,
                #"d_seconds_count{route="x"} 4"#,
            ]
        )
    }
}
