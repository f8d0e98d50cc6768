import TokenModel

extension KillEpochs {
    /// A kill log with one kill.
    ///
    /// - Parameter holds: whether the kill bars new tokens too.
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
