internal import AdminAPI
internal import Testing
internal import TokenModel

@Suite struct SessionBookTests {
    private let start = BootInstant(nanoseconds: 0)
    private let limits = SessionLimits(count: 2, idleTime: .seconds(60), time: .seconds(150))

    @Test func `given a session, both of its halves open it and one does not`() {
        var book = SessionBook(self.limits)
        let (mine, other) = (SessionBook.Ticket.random(), SessionBook.Ticket.random())
        book.begin(mine, at: self.start)
        book.begin(other, at: self.start)

        let isOpen = book.admits(mine, at: self.start)
        let isOpenByID = book.admits(SessionBook.Ticket(id: mine.id, key: other.key), at: self.start)
        let isOpenByKey = book.admits(SessionBook.Ticket(id: other.id, key: mine.key), at: self.start)
        let isOpenTurned = book.admits(SessionBook.Ticket(id: mine.key, key: mine.id), at: self.start)
        let isOpenUnknown = book.admits(.random(), at: self.start)

        #expect(isOpen)
        #expect([isOpenByID, isOpenByKey, isOpenTurned, isOpenUnknown] == [false, false, false, false])
    }

    @Test(arguments: [(59, true), (60, false)])
    func `given a session that is not used, it ends with its idle time`(seconds: Int, isOpen: Bool) {
        var book = SessionBook(self.limits)
        let ticket = SessionBook.Ticket.random()
        book.begin(ticket, at: self.start)
        let found = book.admits(ticket, at: self.start.advanced(by: .seconds(seconds)))
        #expect(found == isOpen)
    }

    @Test func `given a session in use, its idle time begins anew, and it ends all the same`() {
        var book = SessionBook(self.limits)
        let ticket = SessionBook.Ticket.random()
        book.begin(ticket, at: self.start)
        var found: [Bool] = []
        for seconds in [50, 100, 149, 150] {
            found.append(book.admits(ticket, at: self.start.advanced(by: .seconds(seconds))))
        }
        #expect(found == [true, true, true, false])
        #expect(book.count == 0)
    }

    @Test func `given one more than there is room for, the one that was not used for longest ends`() {
        var book = SessionBook(self.limits)
        let tickets = (0..<3).map { _ in SessionBook.Ticket.random() }
        book.begin(tickets[0], at: self.start)
        book.begin(tickets[1], at: self.start.advanced(by: .seconds(1)))
        _ = book.admits(tickets[0], at: self.start.advanced(by: .seconds(2)))
        let now = self.start.advanced(by: .seconds(3))
        book.begin(tickets[2], at: now)

        var found: [Bool] = []
        for ticket in tickets { found.append(book.admits(ticket, at: now)) }
        #expect(found == [true, false, true])
        #expect(book.count == 2)
    }

    @Test func `given an end, that session is over and the others are not`() {
        var book = SessionBook(self.limits)
        let tickets = (0..<2).map { _ in SessionBook.Ticket.random() }
        for ticket in tickets { book.begin(ticket, at: self.start) }

        book.end(SessionBook.Ticket(id: tickets[0].id, key: tickets[1].key))
        #expect(book.count == 2)
        book.end(tickets[0])
        let found = [book.admits(tickets[0], at: self.start), book.admits(tickets[1], at: self.start)]
        #expect(found == [false, true])
        book.endAll()
        #expect(book.count == 0)
    }

    @Test func `given an end of all sessions, one that was about to begin does not`() {
        var book = SessionBook(self.limits)
        let ticket = SessionBook.Ticket.random()
        let era = book.era
        book.endAll()
        let hasBegun = book.begin(ticket, in: era, at: self.start)
        let isOpen = book.admits(ticket, at: self.start)
        #expect(!hasBegun)
        #expect(!isOpen)

        let hasBegunAnew = book.begin(ticket, in: book.era, at: self.start)
        #expect(hasBegunAnew)
        #expect(book.count == 1)
    }
}
