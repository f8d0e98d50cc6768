internal import Dispatch

/// Runs an actor on a dispatch queue of its own, so that calls that wait for a disk block no thread of the concurrency
/// runtime.
final class BlockingExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: the name of the queue in a debugger.
    init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: UnownedJob) {
        let executor = unsafe self.asUnownedSerialExecutor()
        self.queue.async { unsafe job.runSynchronously(on: executor) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}
