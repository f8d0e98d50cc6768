package import TokenModel

/// A kill that the store did not take when it was ordered, and that is in the store now. It could not be recorded in
/// the audit log when it was ordered.
package struct KeptKill: Equatable, Sendable {
    package let id: KillID
    package let scope: KillScope
    package let reason: String
    package let epoch: Epoch
    package let requestedAt: WallTime
    /// True if this process received the order; false if another process that shares `state_dir`, or an earlier start,
    /// did.
    package let isOwn: Bool
    /// Who ordered the kill, and from where. Known only if this process received the order.
    package let requester: String?
}
