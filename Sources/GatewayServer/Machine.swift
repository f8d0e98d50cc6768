internal import CShims
internal import Glibc
internal import NIOCore

/// The name of this machine.
package enum HostName {
    package static let text: String = {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}

/// The number of event loops that serve callers.
enum EventLoopCount {
    /// One for each core that this process may use according to its CPU affinity and its control group. Additional
    /// loops would only compete for the same cores.
    static var standard: Int {
        let allowed = Int(martlet_allowed_cores())
        return allowed > 0 ? min(allowed, System.coreCount) : System.coreCount
    }
}
