package import TokenModel

/// A kill that the store did not take when it was ordered, and that stands there now: nobody could record it then.
package struct KeptKill: Equatable, Sendable {
    package let id: KillID
    package let scope: KillScope
    package let reason: String
    package let epoch: Epoch
    package let requestedAt: WallTime
    /// This process was asked for it; else one that shares `state_dir`, or an earlier start.
    package let isOwn: Bool
    /// Who ordered it, and from where, as far as it is this process's own.
    package let requester: String?
}
