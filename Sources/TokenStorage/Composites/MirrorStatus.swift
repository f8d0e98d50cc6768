internal import Synchronization
internal import TokenModel

/// What is known of one mirror, for all tasks that work on it. Tells of each change of its phase.
final class MirrorStatus: Sendable {
    private struct Known {
        var progress: MirrorProgress
        var markID: MirrorMark.ID?
    }

    let name: String
    private let timepiece: Timepiece
    private let known: Mutex<Known>
    private let told: @Sendable (MirrorState) -> Void

    /// - Parameter told: called after each change of the phase. It must return quickly.
    init(
        _ name: String,
        timing: MirrorTiming,
        timepiece: Timepiece,
        told: @escaping @Sendable (MirrorState) -> Void
    ) {
        self.name = name
        self.timepiece = timepiece
        self.known = Mutex(Known(progress: MirrorProgress(timing, at: timepiece.now)))
        self.told = told
    }

    var now: Moment { self.timepiece.now }

    var state: MirrorState { self.known.withLock { self.state(of: $0.progress) } }

    /// The id of the mark that the mirror had when this process first saw it.
    var markID: MirrorMark.ID? {
        get { self.known.withLock(\.markID) }
        set { self.known.withLock { $0.markID = newValue } }
    }

    /// Hands an event to the machine.
    func update<Result: Sendable>(_ event: (inout MirrorProgress, Moment) -> Result) -> Result {
        let now = self.timepiece.now
        let (result, change) = self.known.withLock { known in
            let before = known.progress.phase
            let result = event(&known.progress, now)
            return (result, known.progress.phase == before ? nil : self.state(of: known.progress))
        }
        if let change { self.told(change) }
        return result
    }

    /// A call to the mirror failed, or is late.
    func failed(isWrite: Bool) { _ = self.update { $0.failed(isWrite: isWrite, at: $1) } }

    /// Waits until `due` says that something is to be done.
    ///
    /// - Returns: false if the task is cancelled.
    func wait(for due: (MirrorProgress, BootInstant) -> MirrorProgress.Due) async -> Bool {
        while !Task.isCancelled {
            let now = self.timepiece.now.boot
            switch due(self.known.withLock(\.progress), now) {
            case .now: return true
            case .nothing(let until):
                // An event may move the time forward, so it is looked at again and again.
                await self.timepiece.rest(until: min(until, now.advanced(by: Self.tick)))
            }
        }
        return false
    }

    private static let tick = Duration.milliseconds(100)

    private func state(of progress: MirrorProgress) -> MirrorState {
        MirrorState(name: self.name, phase: progress.phase, completeAt: progress.completeAt)
    }
}
