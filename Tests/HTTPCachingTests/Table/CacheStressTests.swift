import HTTPCaching
import NIOCore
import Synchronization
import TestKit
import Testing
import TokenModel

@Suite struct CacheStressTests {
    /// Eight tasks ask for few keys of a small cache, while another one purges, invalidates and resizes it.
    @Test(arguments: [false, true])
    func `from many threads, nobody waits in vain, no two lead, and the bound holds`(isPurged: Bool) async throws {
        let bound = 250_000
        let cache = ResponseCache(maxSize: bound, maxObject: 20_000)
        let leaders = Shared(Array(repeating: 0, count: 40))
        let faults = Shared<[String]>([])
        let settled = Tally()
        let waited = Tally()

        try await within("the stress", limit: .seconds(120)) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        var generator = SeededGenerator(seed: UInt64(task))
                        for _ in 0..<1_500 {
                            let number = Int.random(in: 0..<40, using: &generator)
                            let key = Given.key("/\(number)")
                            let found = try cache.find(key, for: Given.owner, matching: Given.request(accept: "x"))
                            if let stored = found.stored {
                                let isAnother = stored.body.firstByte != UInt8(number)
                                if isAnother { faults.change { $0.append("another body") } }
                                continue
                            }
                            let waiter = CountingWaiter(settled)
                            switch cache.begin(key, having: found, waiter: waiter, now: .now) {
                            case .changed, .alone: break
                            case .waits(let ticket):
                                if Bool.random(using: &generator) || !ticket.leave() { waited.add() }
                            case .leads(let fill):
                                leaders.change { $0[number] += 1 }
                                await Task.yield()
                                // A purge lets the next one begin.
                                if !isPurged, leaders.value[number] > 1 { faults.change { $0.append("two lead") } }
                                // Not later: what follows may end the fill, and another one may begin.
                                leaders.change { $0[number] -= 1 }
                                let count = Int.random(in: 1...15_000, using: &generator)
                                guard fill.start(length: Bool.random(using: &generator) ? count : nil) else { break }
                                await Task.yield()
                                guard fill.append(ByteBuffer(repeating: UInt8(number), count: count)) else { break }
                                if Int.random(in: 0..<10, using: &generator) == 0 {
                                    fill.abandon(.retry, remember: false)
                                } else {
                                    _ = fill.finish { try? Given.stored($0) }
                                }
                            }
                            if cache.statistics.bytes > bound { faults.change { $0.append("over the bound") } }
                        }
                    }
                }
                group.addTask {
                    for turn in 0..<(isPurged ? 200 : 0) {
                        switch turn % 3 {
                        case 0: cache.invalidate(resourceOf: Given.key("/\(turn % 40)"))
                        case 1: _ = cache.purge { key, _ in key.bytes.last == UInt8(ascii: "7") }
                        default: cache.resize(maxSize: bound - turn * 100, maxObject: 20_000)
                        }
                        await Task.yield()
                    }
                }
                try await group.waitForAll()
            }
        }

        #expect(faults.value == [])
        #expect(settled.count == waited.count)
        #expect(waited.count > 0)
        #expect(cache.statistics.evictions > 0)
        _ = cache.purge { _, _ in true }
        #expect(cache.statistics.entries == 0)
        #expect(cache.statistics.bytes == 0)
    }

    @Test func `of many that begin at once, one leads and all others wait`() async throws {
        let cache = ResponseCache(maxSize: 1 << 20, maxObject: 20_000)
        for round in 0..<200 {
            let key = Given.key("/\(round)")
            let settled = Tally()
            let waiting = Tally()
            let fills = Shared<[CacheFill]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let found = try cache.find(key, for: Given.owner, matching: Given.request(accept: "x"))
                        switch cache.begin(key, having: found, waiter: CountingWaiter(settled), now: .now) {
                        case .leads(let fill): fills.change { $0.append(fill) }
                        case .waits: waiting.add()
                        case .alone, .changed: Issue.record("neither leads nor waits")
                        }
                    }
                }
                try await group.waitForAll()
            }

            #expect(fills.value.count == 1)
            #expect(waiting.count == 7)
            fills.value.first?.abandon(.retry, remember: false)
            #expect(settled.count == 7)
        }
    }
}

/// A value for several tasks.
private final class Shared<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { self.mutex = Mutex(value) }

    var value: Value { self.mutex.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) { self.mutex.withLock { body(&$0) } }
}

private final class CountingWaiter: CacheWaiter {
    private let tally: Tally

    init(_ tally: Tally) { self.tally = tally }

    func settled(_ outcome: CollapseOutcome) { self.tally.add() }
}

extension StoredBody {
    fileprivate var firstByte: UInt8? {
        var bytes = ByteBuffer()
        self.copy(0..<1, into: &bytes)
        return bytes.readInteger()
    }
}
