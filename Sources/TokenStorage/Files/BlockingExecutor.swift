internal import Dispatch
internal import TokenModel

/// Runs an actor on a dispatch queue of its own, so that calls that wait for a disk block no thread of the concurrency
/// runtime.
package final class BlockingExecutor: SerialExecutor {
    private let queue: DispatchQueue
    /// Where a simulation runs it: it has one thread for everything.
    private let simulated = OwnedTasks.executor

    /// - Parameter label: the name of the queue in a debugger.
    package init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: UnownedJob) {
        let executor = unsafe self.asUnownedSerialExecutor()
        if let simulated {
            Task(executorPreference: simulated) {
                unsafe job.runSynchronously(isolatedTo: executor, taskExecutor: simulated.asUnownedTaskExecutor())
            }
            return
        }
        self.queue.async { unsafe job.runSynchronously(on: executor) }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}
