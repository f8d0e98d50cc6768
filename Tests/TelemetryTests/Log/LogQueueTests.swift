import Telemetry
import Testing

@Suite struct LogQueueTests {
    private func batch(_ count: Int, lost: Int = 0) -> AccessBatch {
        AccessBatch(records: Array(repeating: .sample(), count: count), routes: [], lost: lost)
    }

    @Test func `lines beyond the line limit are lost and counted`() {
        var queue = LogQueue(LogLimits(lines: 3, bytes: 1_000_000))
        for _ in 0..<2 { queue.append([1]) }
        queue.append(self.batch(3, lost: 4))
        queue.append([1])

        let (items, lost) = queue.take()

        #expect(items.count == 3)
        guard case .requests(let taken) = items.last else {
            Issue.record("the requests are not there")
            return
        }
        #expect(taken.records.count == 1)
        #expect(lost == 2 + 4 + 1)
        #expect(queue.isEmpty)
    }

    @Test func `lines beyond the byte limit are lost, and a shorter line may still fit`() {
        var queue = LogQueue(LogLimits(lines: 100, bytes: 10))
        queue.append(Array(repeating: 1, count: 8))
        queue.append(Array(repeating: 2, count: 3))
        queue.append([3, 3])
        queue.append(self.batch(1))
        let (items, lost) = queue.take()
        #expect(items.count == 2)
        #expect(lost == 2)
    }

    @Test(arguments: [
        // One limit in lines, and one in bytes.
        LogLimits(lines: 100, bytes: 1_000_000), LogLimits(lines: 1_000_000, bytes: 100 * LogQueue.requestBytes),
    ])
    func `requests take at most three quarters and leave the rest to other lines`(limits: LogLimits) {
        var queue = LogQueue(limits)
        queue.append(self.batch(60))
        queue.append(self.batch(60))
        let line = [UInt8](repeating: 1, count: LogQueue.requestBytes)
        for _ in 0..<30 { queue.append(line) }
        queue.append(self.batch(1))

        let (items, lost) = queue.take()

        let requests = items.map { item in
            guard case .requests(let batch) = item else { return 0 }
            return batch.records.count
        }
        #expect(requests.reduce(0, +) == 75)
        #expect(items.count { if case .line = $0 { true } else { false } } == 25)
        #expect(lost == 45 + 5 + 1)
    }

    @Test func `taking lines frees space and resets the count of lost lines`() {
        var queue = LogQueue(LogLimits(lines: 1, bytes: 100))
        queue.append([1])
        queue.append([1])
        #expect(queue.take().lost == 1)
        queue.append([1])
        let (items, lost) = queue.take()
        #expect(items.count == 1)
        #expect(lost == 0)
    }

    @Test func `a queue with only lost lines is not empty`() {
        var queue = LogQueue(LogLimits(lines: 0, bytes: 0))
        #expect(queue.isEmpty)
        queue.append([1])
        #expect(!queue.isEmpty)
    }
}
