internal import Dispatch

/// Runs an actor on a dispatch queue of its own, so that calls that wait for a disk block no thread of the concurrency
/// runtime.
package final class BlockingExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: the name of the queue in a debugger.
    package init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: UnownedJob) {
        let executor = unsafe self.asUnownedSerialExecutor()
        self.queue.async { unsafe job.runSynchronously(on: executor) }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}
