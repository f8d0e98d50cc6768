internal import Dispatch
internal import Foundation
internal import Glibc
internal import Synchronization
package import TokenModel

/// Writes the log on a thread of its own, so that no caller of the logger waits for the reader of the log.
///
/// Lines wait in a bounded queue. While the reader of the log is gone or slow (a full pipe, a full disk), only that
/// thread waits. Lines beyond the bound are lost. Their number is logged after the last line that found room.
package final class LogWriter: Sendable {
    private struct State {
        var queue: LogQueue
        /// The thread waits for ``wake``.
        var isAsleep = false
        /// Lines are being written to the output.
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

    /// The format of lines that are made from now on. Finished lines stay as they are.
    package var format: LogFormat {
        get { self.isText.load(ordering: .relaxed) ? .text : .json }
        set { self.isText.store(newValue == .text, ordering: .relaxed) }
    }

    /// Writes the waiting lines, as far as `time` allows, and ends the thread. Later lines are lost.
    ///
    /// - Returns: whether all lines were written.
    package func close(within time: Duration) async -> Bool {
        self.change { $0.isClosed = true }
        return await self.settle(within: time)
    }

    /// Waits for up to `time` until all lines are written.
    ///
    /// - Returns: whether all lines were written.
    package func settle(within time: Duration) async -> Bool {
        let deadline = BootInstant.now.advanced(by: time)
        while BootInstant.now < deadline {
            if self.isIdle { return true }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return self.isIdle
    }

    /// Whether no line waits or is being written.
    package var isIdle: Bool { self.state.withLock { $0.queue.isEmpty && !$0.isWriting } }

    /// Takes a finished line.
    func take(_ line: [UInt8]) {
        self.change { if !$0.isClosed { $0.queue.append(line) } }
    }

    /// Takes requests, if it can without waiting for another thread.
    ///
    /// - Parameter waiting: whether to wait for the lock all the same. The wait is short, because no thread writes to
    ///   the output while it holds the lock.
    /// - Returns: whether it has taken the requests.
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
        // A closed pipe shows as an error, not as a signal. Other signals are for other threads.
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        var spill = LogSpill()
        while true {
            switch self.next() {
            case .write(let items, let lost):
                self.write(items, &spill)
                spill.lines += lost
                self.reportLostLines(&spill)
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

    /// Logs how many lines were lost, if any. If that fails, the count is kept for the next time.
    private func reportLostLines(_ spill: inout LogSpill) {
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

    /// In bytes: about so much goes out with one call.
    private static let piece = 32 << 10
}

/// The wall time now, and at any instant of the boot clock.
package struct LogClock: Sendable {
    package let now: WallTime
    package let bootNow: BootInstant

    package init(now: WallTime, bootNow: BootInstant) {
        self.now = now
        self.bootNow = bootNow
    }

    /// Correct unless the wall clock was set in between.
    package func wallTime(of moment: BootInstant) -> WallTime {
        self.now.advanced(by: self.bootNow.duration(to: moment))
    }
}
