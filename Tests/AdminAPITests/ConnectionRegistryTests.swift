internal import AdminAPI
internal import SystemSupport
internal import Testing

@Suite struct ConnectionRegistryTests {
    private let home = PeerNetwork.v4(1)
    private let elsewhere = PeerNetwork.v4(2)

    /// A registry with as many places as `names`, all taken in this order.
    private func book(_ names: String..., perNetwork: Int = 100) -> ConnectionRegistry<String> {
        var book = ConnectionRegistry<String>(.init(all: names.count, perNetwork: perNetwork))
        for name in names { _ = book.arrive(name, from: self.home) }
        return book
    }

    @Test func `given free places, newcomers get them and no connection ends`() {
        var book = ConnectionRegistry<String>(.init(all: 2, perNetwork: 2))
        let arrivals = [book.arrive("a", from: self.home), book.arrive("b", from: self.home)]
        #expect(arrivals == [.admitted, .admitted])
    }

    @Test func `given no free place, the oldest waiting connection ends, then the next`() {
        var book = self.book("a", "b", "c")
        let arrivals = [book.arrive("d", from: self.elsewhere), book.arrive("e", from: self.elsewhere)]
        #expect(arrivals == [.admittedInPlace(of: "a"), .admittedInPlace(of: "b")])
        #expect(book.count == 3)
    }

    @Test func `given requests in progress, waiting connections end first, then the oldest request`() {
        var book = self.book("a", "b", "c")
        for asking in ["a", "b", "c"] { book.ask(asking) }
        book.respond("b")
        let arrivals = [book.arrive("d", from: self.home), book.arrive("e", from: self.home)]
        #expect(arrivals == [.admittedInPlace(of: "b"), .admittedInPlace(of: "d")])
        book.ask("e")
        let third = book.arrive("f", from: self.home)
        #expect(third == .admittedInPlace(of: "a"))
    }

    @Test func `given a wrong token, its connection ends first, even before silent ones`() {
        var book = self.book("a", "b", "c")
        book.ask("c", showing: .wrongToken)
        book.ask("b", showing: .rightToken)
        var gone: [ConnectionRegistry<String>.Arrival] = []
        for newcomer in ["d", "e", "f"] { gone.append(book.arrive(newcomer, from: self.home)) }
        #expect(gone == [.admittedInPlace(of: "c"), .admittedInPlace(of: "a"), .admittedInPlace(of: "d")])
    }

    @Test func `given a connection that has shown a token, it keeps its place while others end, even between requests`()
    {
        var book = self.book("a", "b")
        book.ask("a")
        book.recognize("a")
        book.respond("a")
        var gone: [ConnectionRegistry<String>.Arrival] = []
        for newcomer in ["c", "d", "e"] { gone.append(book.arrive(newcomer, from: self.home)) }
        #expect(gone == [.admittedInPlace(of: "b"), .admittedInPlace(of: "c"), .admittedInPlace(of: "d")])
    }

    @Test func `given wrong tokens that wait for their refusal, a silent newcomer keeps the place of one of them`() {
        var book = self.book("a", "b", "c")
        for wrong in ["a", "b", "c"] { book.ask(wrong, showing: .wrongToken) }
        var gone = [book.arrive("operator", from: self.elsewhere)]
        for newcomer in ["d", "e", "f"] {
            gone.append(book.arrive(newcomer, from: self.home))
            book.ask(newcomer, showing: .wrongToken)
        }
        #expect(
            gone == [
                .admittedInPlace(of: "a"), .admittedInPlace(of: "b"), .admittedInPlace(of: "c"),
                .admittedInPlace(of: "d"),
            ]
        )
        book.ask("operator", showing: .rightToken)
        #expect(book.count == 3)
    }

    @Test func `given that all have shown a token, the one that is idle for longest ends`() {
        var book = self.book("a", "b", "c")
        for known in ["a", "b", "c"] { book.ask(known, showing: .rightToken) }
        for answered in ["c", "a"] { book.respond(answered) }
        // This connection was idle before and is busy again.
        book.ask("c")
        var gone = [book.arrive("d", from: self.elsewhere)]
        book.ask("d", showing: .rightToken)
        gone.append(book.arrive("e", from: self.elsewhere))
        book.respond("b")
        gone.append(book.arrive("f", from: self.elsewhere))
        #expect(gone == [.admittedInPlace(of: "a"), .turnedAway, .admittedInPlace(of: "b")])
        #expect(book.count == 3)
    }

    @Test func `given a connection recognized after its head, it is idle from its response on`() {
        var book = self.book("a", "b")
        for known in ["a", "b"] {
            book.ask(known)
            book.recognize(known)
        }
        let first = book.arrive("c", from: self.elsewhere)
        book.respond("b")
        let second = book.arrive("d", from: self.elsewhere)
        #expect([first, second] == [.turnedAway, .admittedInPlace(of: "b")])
    }

    @Test func `given that all have shown a token and are busy, a newcomer is refused until one leaves`() {
        var book = self.book("a", "b")
        for known in ["a", "b"] { book.ask(known, showing: .rightToken) }
        let first = book.arrive("c", from: self.elsewhere)
        book.leave("a")
        let second = book.arrive("d", from: self.elsewhere)
        #expect([first, second] == [.turnedAway, .admitted])
        #expect(book.count == 2)
    }

    @Test func `given a network that has used up its share, its own oldest connection ends`() {
        var book = ConnectionRegistry<String>(.init(all: 4, perNetwork: 2))
        _ = book.arrive("other", from: self.elsewhere)
        _ = book.arrive("a", from: self.home)
        _ = book.arrive("b", from: self.home)
        let third = book.arrive("c", from: self.home)
        #expect(third == .admittedInPlace(of: "a"))
        // Connections that have shown a token do not count for the share.
        book.recognize("b")
        let fourth = book.arrive("d", from: self.home)
        #expect(fourth == .admitted)
        #expect(book.count == 4)
    }

    @Test func `given a connection that has lost its place, its later events change nothing`() {
        var book = self.book("a", "b")
        _ = book.arrive("c", from: self.home)
        book.ask("a")
        book.recognize("a")
        book.respond("a")
        book.leave("a")
        #expect(book.count == 2)
        let next = book.arrive("d", from: self.home)
        #expect(next == .admittedInPlace(of: "b"))
    }
}
