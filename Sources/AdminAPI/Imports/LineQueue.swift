internal import Synchronization

/// Hands lines from the task that reads them to the task that imports them, in batches: it costs little more to import many
/// accounts than one.
///
/// A batch is full with ``LineQueue/batch`` lines. Fewer are taken when ``ripen()`` says that they have waited for long
/// enough, or when they are the last ones. A reader that is ahead by two batches waits.
package final class LineQueue<Line: Sendable>: Sendable {
    private struct State {
        var lines: [Line] = []
        var isRipe = false
        /// No more lines will come.
        var isFinished = false
        /// No more lines will be taken.
        var isClosed = false
        var reader: CheckedContinuation<Void, Never>?
        var taker: CheckedContinuation<Void, Never>?
    }

    private let batch: Int
    private let state = Mutex(State())

    /// - Parameter batch: the most lines of a batch.
    package init(batch: Int) {
        self.batch = batch
    }

    /// Adds lines, and waits if there are enough of them. Must not be called again before it returns.
    ///
    /// - Returns: whether the lines begin to wait now, so that a call of ``ripen()`` is due after a while.
    package func add(_ lines: [Line]) async -> Bool {
        let (begins, isTooMany) = self.change { state in
            let begins = state.lines.isEmpty && !lines.isEmpty
            if !state.isClosed { state.lines += lines }
            return (begins, state.lines.count >= 2 * self.batch)
        }
        guard isTooMany else { return begins }
        await withCheckedContinuation { reader in
            self.change { $0.reader = reader }
        }
        return false
    }

    /// Lets the lines be taken that are there. Does nothing if there are none.
    package func ripen() { self.change { $0.isRipe = !$0.lines.isEmpty } }

    /// Says that no more lines will come.
    package func finish() { self.change { $0.isFinished = true } }

    /// Drops all lines, now and from now on.
    package func close() {
        self.change { state in
            state.isClosed = true
            state.lines = []
        }
    }

    /// Waits for a batch. Must not be called again before it returns.
    ///
    /// - Returns: `nil` if no more will come.
    package func take() async -> [Line]? {
        await withCheckedContinuation { taker in
            self.change { $0.taker = taker }
        }
        return self.change { state in
            let batch = Array(state.lines.prefix(self.batch))
            state.lines.removeFirst(batch.count)
            // What is left has waited while the batch before it was imported.
            state.isRipe = !state.lines.isEmpty
            return batch.isEmpty ? nil : batch
        }
    }

    /// Changes the state, and resumes who waited for that.
    private func change<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, taker, reader) = self.state.withLock { state in
            let result = change(&state)
            let isTakable =
                state.lines.count >= self.batch || state.isRipe || state.isFinished || state.isClosed
            let hasRoom = state.lines.count < 2 * self.batch
            let taker = isTakable ? state.taker.take() : nil
            let reader = hasRoom ? state.reader.take() : nil
            return (result, taker, reader)
        }
        taker?.resume()
        reader?.resume()
        return result
    }
}
