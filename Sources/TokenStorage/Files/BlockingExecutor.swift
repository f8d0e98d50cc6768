internal import Dispatch

/// Runs an actor on a thread of its own whenever it has something to do: calls that wait for a disk keep no task of anyone
/// else from running.
final class BlockingExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: how the queue shows up in a debugger.
    init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: UnownedJob) {
        let executor = unsafe self.asUnownedSerialExecutor()
        self.queue.async { unsafe job.runSynchronously(on: executor) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}
