internal import AdminAPI
internal import TestKit
internal import Testing

@Suite struct LineQueueTests {
    @Test func `given more lines than a batch, they are taken in batches, and the rest with no wait`() async {
        let queue = LineQueue<Int>(batch: 2)
        let begins = await queue.add([1, 2, 3])
        #expect(begins)
        #expect(await queue.take() == [1, 2])
        #expect(await queue.take() == [3])
    }

    @Test func `given fewer lines than a batch, they are taken once they are ripe`() async throws {
        // Given a taker that waits
        let queue = LineQueue<Int>(batch: 3)
        async let batch = queue.take()

        // When lines come that are too few, then the first of them begins the wait
        #expect(await queue.add([1]))
        #expect(await queue.add([2]) == false)

        // And they are handed over when it ends
        queue.ripen()
        #expect(await batch == [1, 2])
    }

    @Test func `given lines that were taken before their wait ended, the end of the wait does nothing`() async {
        let queue = LineQueue<Int>(batch: 1)
        _ = await queue.add([1])
        #expect(await queue.take() == [1])
        queue.ripen()
        async let batch = queue.take()
        _ = await queue.add([2])
        #expect(await batch == [2])
    }

    @Test func `given the end, what is left is taken, and then nothing`() async {
        let queue = LineQueue<Int>(batch: 3)
        _ = await queue.add([1])
        queue.finish()
        #expect(await queue.take() == [1])
        #expect(await queue.take() == nil)
    }

    @Test func `given a reader that is two batches ahead, it waits until a batch is taken`() async throws {
        let queue = LineQueue<Int>(batch: 2)
        let goneOn = Tally()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                _ = await queue.add([1, 2, 3, 4])
                goneOn.add()
            }
            #expect(await queue.take() == [1, 2])
            try await eventually("the reader to go on") { goneOn.count == 1 }
            #expect(await queue.take() == [3, 4])
        }
    }

    @Test func `given a reader that waits, a queue that is closed lets it go on and drops the lines`() async {
        let queue = LineQueue<Int>(batch: 1)
        async let added = queue.add([1, 2, 3])
        queue.close()
        _ = await added
        #expect(await queue.take() == nil)
        _ = await queue.add([4])
        #expect(await queue.take() == nil)
    }
}
