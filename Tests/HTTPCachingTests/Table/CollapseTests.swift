import HTTPCaching
import Testing
import TokenModel

@Suite struct CollapseTests {
    private let cache = ResponseCache(maxSize: 1 << 20, maxObject: 64 << 10)
    private let key = Given.key("/a")
    private let waiter = RecordingWaiter()

    @Test func `a request for another resource or requester does not wait`() throws {
        let first = try self.cache.lead(Given.key("/a", "b"))
        let second = try self.cache.lead(Given.key("/a", "c"))
        let third = try self.cache.lead(Given.key("/b", "b"))
        withExtendedLifetime([first, second, third]) {}
    }

    @Test func `those who wait are told of the stored response`() throws {
        let fill = try self.cache.lead(self.key)
        let waiters = (0..<100).map { _ in RecordingWaiter() }
        for waiter in waiters { _ = try self.cache.begin(self.key, waiter) }
        #expect(fill.start(length: nil))
        #expect(fill.append(Given.bytes(10)))
        #expect(waiters.allSatisfy { $0.outcomes.isEmpty })

        _ = fill.finish { try? Given.stored($0) }

        #expect(waiters.allSatisfy { $0.outcomes == [.stored] })
        #expect(try self.cache.look(self.key) != nil)
    }

    @Test(arguments: [(true, CollapseOutcome.goAlone), (false, .retry)])
    func `those who wait are told of an abandoned request`(remember: Bool, outcome: CollapseOutcome) throws {
        let fill = try self.cache.lead(self.key)
        _ = try self.cache.begin(self.key, self.waiter)

        fill.abandon(remember ? .goAlone : .retry, remember: remember, now: Given.now(0))
        fill.abandon(.goAlone, remember: true, now: Given.now(0))

        #expect(self.waiter.outcomes == [outcome])
    }

    @Test func `those who wait are told of a revalidated response`() throws {
        let old = try #require(try self.cache.store(self.key, 10))
        let fill = try self.cache.lead(self.key)
        _ = try self.cache.begin(self.key, self.waiter)

        #expect(try fill.revalidated(old, as: Given.stored(old.body)))

        #expect(self.waiter.outcomes == [.stored])
    }

    @Test func `a fill that is dropped lets others lead`() throws {
        var fill: CacheFill? = try self.cache.lead(self.key)
        #expect(try #require(fill).start(length: 10_000))
        _ = try self.cache.begin(self.key, self.waiter)

        fill = nil

        #expect(self.waiter.outcomes == [.retry])
        #expect(self.cache.statistics.bytes == 0)
        _ = try self.cache.lead(self.key)
    }

    @Test func `a response that can't be made sends those who wait on their way`() throws {
        let fill = try self.cache.lead(self.key)
        _ = try self.cache.begin(self.key, self.waiter)
        #expect(fill.start(length: 0))

        #expect(fill.finish { _ in nil } == nil)

        #expect(self.waiter.outcomes == [.goAlone])
        #expect(self.cache.statistics.bytes == 0)
    }

    @Test func `who leaves is not told`() throws {
        let fill = try self.cache.lead(self.key)
        let stays = RecordingWaiter()
        guard case .waits(let ticket) = try self.cache.begin(self.key, self.waiter),
            case .waits(let other) = try self.cache.begin(self.key, stays)
        else { Issue.record("does not wait"); return }

        #expect(ticket.leave())
        // Another one takes the place.
        let late = RecordingWaiter()
        _ = try self.cache.begin(self.key, late)
        #expect(!ticket.leave())
        fill.abandon(.retry, remember: false)

        #expect(self.waiter.outcomes.isEmpty)
        #expect(stays.outcomes == [.retry])
        #expect(late.outcomes == [.retry])
        #expect(!other.leave())
    }

    @Test func `nobody waits for a key that is not shared, for a minute`() throws {
        try self.cache.lead(self.key).abandon(.goAlone, remember: true, now: Given.now(0))

        for (key, seconds, waits) in [(self.key, 59, false), (self.key, 60, true), (Given.key("/b"), 0, true)] {
            let fill = try self.cache.lead(key, at: seconds)
            let other = try self.cache.begin(key, self.waiter, at: seconds)
            if case .waits = other { #expect(waits) } else { #expect(!waits) }
            fill.abandon(.retry, remember: false)
        }
    }

    @Test func `what comes for such a key is stored, if it can be`() throws {
        try self.cache.lead(self.key).abandon(.goAlone, remember: true, now: Given.now(0))

        #expect(try self.cache.store(self.key, 10) != nil)
    }

    @Test func `a request that does not wait goes alone`() throws {
        let fill = try self.cache.lead(self.key)

        guard case .alone = try self.cache.begin(self.key) else { Issue.record("does not go alone"); return }
        withExtendedLifetime(fill) {}
    }

    @Test(arguments: [false, true]) func `what changed since the look-up is looked up again`(isRemoved: Bool) throws {
        let stored = isRemoved ? try self.cache.store(self.key, 10) : nil
        let found = try self.cache.find(self.key, for: Given.owner, matching: Given.request(accept: "x"))
        if let stored { self.cache.remove(stored, at: self.key) } else { try self.cache.store(self.key, 10) }

        guard case .changed = self.cache.begin(self.key, having: found, waiter: nil, now: Given.now(0)) else {
            Issue.record("not noticed")
            return
        }
    }
}
