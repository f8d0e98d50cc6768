extension CommandFailure {
    /// What an order to kill ends with that the gateway did not take: ``ProgramExit/no`` says for such an order that it
    /// holds, and that not every replica has stopped.
    package var ofRefusedKill: CommandFailure {
        self.status == .no ? CommandFailure(.usage, self.message) : self
    }
}
