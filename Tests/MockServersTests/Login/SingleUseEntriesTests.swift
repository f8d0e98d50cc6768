import MockServers
import Testing

@Suite struct SingleUseEntriesTests {
    @Test(arguments: [(59.9, "one"), (60, nil)])
    func `a value can be taken until its lifetime is over`(at second: Double, value: String?) {
        var entries = SingleUseEntries<String>(lifetime: .seconds(60))
        entries.add("one", under: "k1", at: .second(0))

        let taken = entries.take("k1", at: .second(second))
        #expect(taken == value)
    }

    @Test func `a value can be taken once, and only under its key`() {
        var entries = SingleUseEntries<String>(lifetime: .seconds(60))
        entries.add("one", under: "k1", at: .second(0))

        let taken = ["k2", "k1", "k1"].map { entries.take($0, at: .second(1)) }
        #expect(taken == [nil, "one", nil])
    }
}
