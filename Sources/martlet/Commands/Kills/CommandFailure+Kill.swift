extension CommandFailure {
    /// What an order to kill ends with that the gateway did not take, such as for a name that nobody knows: ``ProgramExit/no``
    /// says for such an order that it holds, and that not every replica has stopped.
    package var ofRefusedKill: CommandFailure {
        self.status == .no ? CommandFailure(.usage, self.message) : self
    }

    /// What an order to revive ends with that the gateway did not take: a name that nobody knows is the same slip there.
    /// That something is not killed is an answer: ``ProgramExit/no``.
    package func ofRefusedRevival(httpStatus: Int) -> CommandFailure {
        httpStatus == 404 ? self.ofRefusedKill : self
    }
}
