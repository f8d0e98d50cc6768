internal import AdminCLI
internal import Testing

@Suite struct HiddenLineTests {
    @Test(arguments: [
        ("token\n", "token"), ("token\r", "token"), ("tokem\u{7F}n\n", "token"),
        ("x\u{08}\u{08}\u{7F}token\n", "token"),
        ("wrong\u{15}token\n", "token"), ("to\u{1B}ken\n", "token"), ("token\u{04}", "token"), ("\u{e9}\u{7F}t\n", "t"),
    ])
    func `a line ends and is edited as on a terminal`(typed: String, line: String) {
        var hidden = HiddenLine()
        var steps = typed.utf8.map { hidden.take($0) }
        #expect(steps.popLast() == .ended)
        #expect(steps.allSatisfy { $0 == .goesOn })
        #expect(String(decoding: hidden.bytes, as: UTF8.self) == line)
    }

    @Test(arguments: ["tok\u{03}", "\u{04}"])
    func `control-C cancels, and so does control-D on an empty line`(typed: String) {
        var hidden = HiddenLine()
        #expect(typed.utf8.map { hidden.take($0) }.last == .cancelled)
    }

    @Test func `a token longer than the line limit of a terminal fits`() {
        var hidden = HiddenLine()
        for _ in 0..<100_000 { #expect(hidden.take(0x61) == .goesOn) }
        #expect(hidden.bytes.count == 100_000)
    }

    @Test func `a line over 1 MiB is too long`() {
        var hidden = HiddenLine()
        for _ in 0..<(1 << 20) { _ = hidden.take(0x61) }
        #expect(hidden.take(0x61) == .tooLong)
    }
}
