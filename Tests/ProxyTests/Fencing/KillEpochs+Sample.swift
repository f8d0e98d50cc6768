import TokenModel

extension KillEpochs {
    /// A log with one kill.
    ///
    /// - Parameter holds: no new tokens may come.
    static func kill(
        _ scope: KillScope = .all,
        at epoch: UInt64 = 1,
        holds: Bool = true,
        streams: KillStreams = .abort
    ) -> KillEpochs {
        var epochs = KillEpochs()
        epochs.raise(scope, at: Epoch(epoch), holds: holds, streams: streams)
        return epochs
    }
}
