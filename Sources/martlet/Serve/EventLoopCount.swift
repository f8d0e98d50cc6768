internal import CShims
internal import NIOCore

/// How many event loops serve callers.
enum EventLoopCount {
    /// One for each core that this process may use: as its affinity and its control group say. More would only take turns.
    static var standard: Int {
        let allowed = Int(martlet_allowed_cores())
        return allowed > 0 ? min(allowed, System.coreCount) : System.coreCount
    }
}
