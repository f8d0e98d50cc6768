/// Tasks that belong to an object instead of a task above them: it cancels them, or they end by themselves.
package enum OwnedTasks {
    /// Where they run; `nil` for the system's threads. A simulation sets it, because such a task does not take over the
    /// executor of the task that starts it.
    @TaskLocal package static var executor: (any TaskExecutor)?
}
