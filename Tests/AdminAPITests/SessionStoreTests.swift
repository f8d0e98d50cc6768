internal import AdminAPI
internal import Testing
internal import TokenModel

@Suite struct SessionStoreTests {
    private let start = BootInstant(nanoseconds: 0)
    private let administrator = Administrator(name: "dana", role: .viewer)
    private let limits = SessionLimits(count: 2, idleTime: .seconds(60), time: .seconds(150))

    @Test func `given a session, its id and key open it together, and neither does alone`() {
        var book = SessionStore(self.limits)
        let (mine, other) = (SessionStore.Ticket.random(), SessionStore.Ticket.random())
        book.begin(mine, for: self.administrator, at: self.start)
        book.begin(other, for: self.administrator, at: self.start)

        let isOpen = book.administrator(presenting: mine, at: self.start)
        let halves = [
            SessionStore.Ticket(id: mine.id, key: other.key), SessionStore.Ticket(id: other.id, key: mine.key),
            SessionStore.Ticket(id: mine.key, key: mine.id),
        ]
        var openedByHalves: [Administrator?] = []
        for ticket in halves { openedByHalves.append(book.administrator(presenting: ticket, at: self.start)) }
        let isOpenUnknown = book.administrator(presenting: .random(), at: self.start)

        #expect(isOpen == self.administrator)
        #expect(openedByHalves == [nil, nil, nil])
        #expect(isOpenUnknown == nil)
    }

    @Test(arguments: [(59, true), (60, false)])
    func `given an unused session, it ends after its idle time`(seconds: Int, isOpen: Bool) {
        var book = SessionStore(self.limits)
        let ticket = SessionStore.Ticket.random()
        book.begin(ticket, for: self.administrator, at: self.start)
        let found = book.administrator(presenting: ticket, at: self.start.advanced(by: .seconds(seconds)))
        #expect((found != nil) == isOpen)
    }

    @Test func `given a session in use, its idle time restarts, and it still ends after its total time`() {
        var book = SessionStore(self.limits)
        let ticket = SessionStore.Ticket.random()
        book.begin(ticket, for: self.administrator, at: self.start)
        var found: [Administrator?] = []
        for seconds in [50, 100, 149, 150] {
            found.append(book.administrator(presenting: ticket, at: self.start.advanced(by: .seconds(seconds))))
        }
        #expect(found.map { $0 != nil } == [true, true, true, false])
        #expect(book.count == 0)
    }

    @Test func `given more sessions than the limit, the least recently used one ends`() {
        var book = SessionStore(self.limits)
        let tickets = (0..<3).map { _ in SessionStore.Ticket.random() }
        book.begin(tickets[0], for: self.administrator, at: self.start)
        book.begin(tickets[1], for: self.administrator, at: self.start.advanced(by: .seconds(1)))
        _ = book.administrator(presenting: tickets[0], at: self.start.advanced(by: .seconds(2)))
        let now = self.start.advanced(by: .seconds(3))
        book.begin(tickets[2], for: self.administrator, at: now)

        var found: [Administrator?] = []
        for ticket in tickets { found.append(book.administrator(presenting: ticket, at: now)) }
        #expect(found.map { $0 != nil } == [true, false, true])
        #expect(book.count == 2)
    }

    @Test func `given one session that is ended, the others continue`() {
        var book = SessionStore(self.limits)
        let tickets = (0..<2).map { _ in SessionStore.Ticket.random() }
        for ticket in tickets { book.begin(ticket, for: self.administrator, at: self.start) }

        book.end(SessionStore.Ticket(id: tickets[0].id, key: tickets[1].key))
        #expect(book.count == 2)
        book.end(tickets[0])
        var found: [Administrator?] = []
        for ticket in tickets { found.append(book.administrator(presenting: ticket, at: self.start)) }
        #expect(found == [nil, self.administrator])
        book.endAll()
        #expect(book.count == 0)
    }

    @Test func `given an end of all sessions, a session that was about to begin does not begin`() {
        var book = SessionStore(self.limits)
        let ticket = SessionStore.Ticket.random()
        let era = book.era
        book.endAll()
        let hasBegun = book.begin(ticket, for: self.administrator, in: era, at: self.start)
        let isOpen = book.administrator(presenting: ticket, at: self.start)
        #expect(!hasBegun)
        #expect(isOpen == nil)

        let hasBegunAnew = book.begin(ticket, for: self.administrator, in: book.era, at: self.start)
        #expect(hasBegunAnew)
        #expect(book.count == 1)
    }
}
