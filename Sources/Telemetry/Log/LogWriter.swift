internal import Dispatch
internal import Foundation
internal import Glibc
internal import Synchronization
package import TokenModel

/// Writes the log with a thread of its own, so that nobody who logs waits for whoever reads it.
///
/// Lines wait in a queue with a bound. While the reader of the log is away or slow (a full pipe, a full disk) only that
/// thread stands still; past the bound lines are lost, and behind the last line that had room stands how many.
package final class LogWriter: Sendable {
    private struct State {
        var queue: LogQueue
        /// The thread waits for ``wake``.
        var isAsleep = false
        /// Lines are on their way to the output.
        var isWriting = false
        var isClosed = false
    }

    private let isText: Atomic<Bool>
    private let output: LogOutput
    private let clock: @Sendable () -> LogClock
    private let state: Mutex<State>
    private let wake = DispatchSemaphore(value: 0)

    /// Starts the thread. It ends after ``close(within:)``.
    package init(
        to output: LogOutput,
        format: LogFormat,
        limits: LogLimits = LogLimits(),
        clock: @escaping @Sendable () -> LogClock
    ) {
        self.output = output
        self.isText = Atomic(format == .text)
        self.clock = clock
        self.state = Mutex(State(queue: LogQueue(limits)))
        let thread = Thread { self.run() }
        thread.name = "martlet-log"
        thread.start()
    }

    /// How lines are written from now on; for whoever makes them. Those that are made stay as they are.
    package var format: LogFormat {
        get { self.isText.load(ordering: .relaxed) ? .text : .json }
        set { self.isText.store(newValue == .text, ordering: .relaxed) }
    }

    /// Writes what waits, as far as that goes within `time`, and ends. What is logged later is lost.
    ///
    /// - Returns: whether all was written.
    package func close(within time: Duration) async -> Bool {
        self.change { $0.isClosed = true }
        return await self.settle(within: time)
    }

    /// Waits until all that was logged is written, as far as that goes within `time`.
    ///
    /// - Returns: whether all was written.
    package func settle(within time: Duration) async -> Bool {
        let deadline = BootInstant.now.advanced(by: time)
        while BootInstant.now < deadline {
            if self.isIdle { return true }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return self.isIdle
    }

    /// Nothing waits, and nothing is being written.
    package var isIdle: Bool { self.state.withLock { $0.queue.isEmpty && !$0.isWriting } }

    /// Takes a finished line.
    func take(_ line: [UInt8]) {
        self.change { if !$0.isClosed { $0.queue.append(line) } }
    }

    /// Takes requests, if it can without waiting for another thread.
    ///
    /// - Parameter waiting: wait nevertheless; that is not for long, since nobody writes while it holds the lock.
    /// - Returns: whether it has taken them.
    func take(_ batch: AccessBatch, waiting: Bool) -> Bool {
        if waiting {
            self.change { if !$0.isClosed { $0.queue.append(batch) } }
            return true
        }
        let wakes = self.state.withLockIfAvailable { state in
            if !state.isClosed { state.queue.append(batch) }
            return Self.wakes(&state)
        }
        if wakes == true { self.wake.signal() }
        return wakes != nil
    }

    private func change(_ change: (inout State) -> Void) {
        let wakes = self.state.withLock { state in
            change(&state)
            return Self.wakes(&state)
        }
        if wakes { self.wake.signal() }
    }

    private static func wakes(_ state: inout State) -> Bool {
        defer { state.isAsleep = false }
        return state.isAsleep
    }
}

// MARK: - On the thread

extension LogWriter {
    private enum Step {
        case write(items: [LogQueue.Item], lost: Int)
        case wait
        case end
    }

    private func run() {
        // A reader that has gone is told by an error, not by a signal; other signals are for other threads.
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        var spill = LogSpill()
        while true {
            switch self.next() {
            case .write(let items, let lost):
                self.write(items, &spill)
                spill.lines += lost
                self.confess(&spill)
            case .wait: self.wake.wait()
            case .end: return
            }
        }
    }

    private func next() -> Step {
        self.state.withLock { state in
            state.isWriting = !state.queue.isEmpty
            guard state.queue.isEmpty else {
                let (items, lost) = state.queue.take()
                return .write(items: items, lost: lost)
            }
            guard !state.isClosed else { return .end }
            state.isAsleep = true
            return .wait
        }
    }

    private func write(_ items: [LogQueue.Item], _ spill: inout LogSpill) {
        let clock = self.clock()
        var text = LineText(self.format)
        for item in items {
            switch item {
            case .line(let line):
                text.append(line)
                if text.bytes.count >= Self.piece { self.output.write(text.take(), &spill) }
            case .requests(let batch):
                for record in batch.records {
                    AccessLine(record: record, routes: batch.routes, clock: clock).write(to: &text)
                    if text.bytes.count >= Self.piece { self.output.write(text.take(), &spill) }
                }
            }
        }
        if !text.bytes.isEmpty { self.output.write(text.take(), &spill) }
    }

    /// Says how many lines were lost, if any, or keeps the count for the next time.
    private func confess(_ spill: inout LogSpill) {
        guard spill.lines > 0 else { return }
        var text = LineText(self.format)
        text.begin(at: self.clock().now, level: "warning", message: "lines of the log were lost")
        text.add("log.lost", Int64(spill.lines))
        text.end()
        let lines = spill.lines
        spill.lines = 0
        self.output.write(text.take(), &spill)
        if spill.lines > 0 { spill.lines = lines }
    }

    /// Many lines go out with one call, in bytes.
    private static let piece = 32 << 10
}

/// What wall time it is, and was at a moment of the incarnation clock.
package struct LogClock: Sendable {
    package let now: WallTime
    package let bootNow: BootInstant

    package init(now: WallTime, bootNow: BootInstant) {
        self.now = now
        self.bootNow = bootNow
    }

    /// As far as the clock was not set in between.
    package func wallTime(of moment: BootInstant) -> WallTime {
        self.now.advanced(by: self.bootNow.duration(to: moment))
    }
}
