internal import CShims
internal import NIOCore

/// The number of event loops that serve callers.
enum EventLoopCount {
    /// One for each core that this process may use according to its CPU affinity and its control group. Additional
    /// loops would only compete for the same cores.
    static var standard: Int {
        let allowed = Int(martlet_allowed_cores())
        return allowed > 0 ? min(allowed, System.coreCount) : System.coreCount
    }
}
