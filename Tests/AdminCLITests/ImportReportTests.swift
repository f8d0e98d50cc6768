internal import AdminCLI
internal import Testing
internal import TokenModel

@Suite struct ImportReportTests {
    private static let start = BootInstant(nanoseconds: 0)

    private static func line(_ number: Int, _ result: String, reason: String? = nil) -> String {
        let why = reason.map { #","reason":"code","message":"\#($0)""# } ?? ""
        return #"{"line":\#(number),"account":"c\#(number)","result":"\#(result)"\#(why)}"# + "\n"
    }

    private static let end = #"{"done":true,"imported":2,"replaced":1,"skipped":0,"refused":1}"# + "\n"

    private func report(isJSON: Bool = false, isTerminal: Bool = false) -> ImportReport {
        ImportReport(isJSON: isJSON, isTerminal: isTerminal, now: Self.start)
    }

    @Test(arguments: [1, 2, 7, 1_000])
    func `results are read however the response is cut into parts`(size: Int) throws {
        var report = self.report()
        let text =
            Self.line(1, "imported") + Self.line(2, "imported") + Self.line(4, "refused", reason: #"no\u001b[2J"#)
            + Self.line(5, "replaced") + Self.end
        var notes = ""
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            #expect(!report.isComplete)
            notes += try report.take(bytes.prefix(size), now: Self.start).notes
            bytes = bytes.dropFirst(size)
        }
        #expect(report.isComplete)
        #expect(notes == "line 4: c4: no\\u{1b}[2J\n")
        #expect(report.answered == 4)
        #expect(report.refused == 1)
        #expect(report.summary == .init(results: "2 imported, 1 replaced, 1 refused\n"))
    }

    @Test func `lines are counted when the response breaks off`() throws {
        var report = self.report()
        let text = Self.line(1, "imported") + Self.line(2, "skipped") + #"{"line":3,"#
        _ = try report.take(Array(text.utf8), now: Self.start)
        #expect(!report.isComplete)
        #expect(report.answered == 2)
    }

    @Test(arguments: ["<html>\n", "{}\n", #"{"line":1}"# + "\n", #"{"done":false}"# + "\n", "7\n"])
    func `other text is attributed to another server`(text: String) {
        var report = self.report()
        let failure = #expect(throws: CommandFailure.self) { try report.take(Array(text.utf8), now: Self.start) }
        #expect(failure?.status == .unavailable)
    }

    @Test func `a line without end is attributed to another server, before it fills the memory`() throws {
        var report = self.report()
        let part = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
        _ = try report.take(part, now: Self.start)
        #expect(throws: CommandFailure.self) { try report.take(part, now: Self.start) }
    }

    @Test func `the first fifty refused lines are shown, and the others are counted`() throws {
        var report = self.report()
        let lines = (1...1_053).map { Self.line($0, "refused", reason: "bad") }.joined()
        let notes = try report.take(Array(lines.utf8), now: Self.start).notes
        #expect(notes.hasPrefix("line 1: c1: bad\n"))
        #expect(notes.hasSuffix("line 50: c50: bad\n"))
        #expect(report.summary.results == "0 imported, 1,053 refused\n")
        #expect(report.summary.notes == "and 1,003 more lines were refused\n")
    }

    @Test func `for programs the response is written as it is, and nothing beside it`() throws {
        var report = self.report(isJSON: true, isTerminal: true)
        let text = Self.line(1, "refused", reason: "bad") + Self.end
        #expect(try report.take(Array(text.utf8), now: Self.start) == .init(results: text))
        #expect(report.summary == .init())
        #expect(report.clearing == "")
    }

    @Test func `on a terminal the progress stays in one line, five times a second`() throws {
        var report = self.report(isTerminal: true)
        var shown: [String] = []
        for number in 1...100 {
            let now = Self.start.advanced(by: .milliseconds(20 * number))
            shown.append(try report.take(Array(Self.line(number, "imported").utf8), now: now).progress)
        }
        let progress = shown.filter { !$0.isEmpty }
        #expect(progress.count == 10)
        #expect(progress.first == "\r\u{1B}[K1 done, 50 a second, 0 refused")
        #expect(progress.last == "\r\u{1B}[K91 done, 50 a second, 0 refused")
    }

    @Test func `on a terminal a refused line takes the place of the progress, which follows at once`() throws {
        var report = self.report(isTerminal: true)
        _ = try report.take(Array(Self.line(1, "imported").utf8), now: Self.start)
        let output = try report.take(Array(Self.line(2, "refused", reason: "bad").utf8), now: Self.start)
        #expect(output.notes == "\r\u{1B}[Kline 2: c2: bad\n")
        #expect(output.progress.hasPrefix("\r\u{1B}[K2 done, "))
        #expect(try report.take(Array(Self.end.utf8), now: Self.start).progress == "")
        #expect(report.clearing == "\r\u{1B}[K")
    }
}
