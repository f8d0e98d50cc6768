internal import Glibc

/// How many sockets and files the process may hold.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard one: each request may hold two sockets, and the usual soft limit is 1,024. Where
    /// the system refuses, the limit stays as it was.
    package static func raise() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
