internal import Glibc

/// How many sockets and files the process may hold.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard one: each request may hold two sockets, and the usual soft limit is 1,024. Where
    /// the system refuses, the limit stays as it was.
    package static func raise() {
        guard var limit = Self.limit else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// How many there may be; `nil` where the system does not tell.
    package static var current: Int? { Self.limit.map { Int(clamping: $0.rlim_cur) } }

    /// How many there are, of the first few thousand: the system gives out the lowest that is free.
    package static var used: Int {
        (0..<min(Self.current ?? 0, 4_096)).count { fcntl(CInt($0), F_GETFD) >= 0 }
    }

    private static var limit: rlimit? {
        var limit = rlimit()
        return unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
