internal import AdminCLI
internal import Testing

@Suite struct CallerKeyTests {
    @Test func `a key is its prefix and 43 letters and digits, and is never repeated`() {
        let keys = (0..<100).map { _ in CallerKey().text }
        #expect(Set(keys).count == 100)
        for key in keys { #expect(key.wholeMatch(of: /martlet_[0-9A-Za-z]{43}/) != nil) }
        // Each character is chosen independently, so 4,300 characters contain all 62.
        #expect(Set(keys.flatMap { $0.dropFirst(8) }).count == 62)
    }
}
