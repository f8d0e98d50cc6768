internal import Glibc

/// The limit on the sockets and files that the process may have open.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit. Each request may need two sockets, and the usual soft limit is 1,024.
    /// If the system refuses, the limit stays unchanged.
    package static func raise() {
        guard var limit = Self.limit else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The soft limit; `nil` if the system does not report it.
    package static var current: Int? { Self.limit.map { Int(clamping: $0.rlim_cur) } }

    /// The number of open descriptors among the first 4,096. The system always assigns the lowest free number, so this
    /// covers nearly all of them.
    package static var used: Int {
        (0..<min(Self.current ?? 0, 4_096)).count { fcntl(CInt($0), F_GETFD) >= 0 }
    }

    private static var limit: rlimit? {
        var limit = rlimit()
        return unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
