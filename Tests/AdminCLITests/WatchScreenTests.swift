internal import AdminCLI
internal import Testing

@Suite struct WatchScreenTests {
    @Test func `a frame is drawn over the previous one, and each line is cleared to its end`() {
        let screen = WatchScreen(rows: 24, columns: 80)
        #expect(
            screen.frame(["one", "two"], at: "now", clears: false)
                == "\u{1B}[Hnow\u{1B}[K\none\u{1B}[K\ntwo\u{1B}[K\n\u{1B}[J"
        )
        #expect(screen.frame([], at: "now", clears: true).hasPrefix("\u{1B}[2J\u{1B}[H"))
    }

    @Test(arguments: [(3, 1), (4, 2), (6, 4), (10, 5), (50, 5)])
    func `nothing scrolls, and the lines that do not fit are counted`(rows: Int, shown: Int) {
        let lines = (1...5).map { "line \($0) of five" }
        let frame = WatchScreen(rows: rows, columns: 6).frame(lines, at: "12:00:00", clears: false)
        let drawn = frame.split(separator: "\n").dropLast()
        #expect(drawn.count <= max(rows - 1, 2))
        #expect(drawn.count == 1 + shown)
        for line in drawn {
            let text = line.replacing("\u{1B}[H", with: "").replacing("\u{1B}[K", with: "")
            #expect(text.count <= 6, "\(text)")
        }
        #expect(frame.contains("… ") == (rows < 7))
    }

    @Test func `without a terminal a frame is a block with a time before it and an empty line after it`() {
        #expect(WatchScreen.block(["one"], at: "now") == "now\none\n\n")
    }
}
