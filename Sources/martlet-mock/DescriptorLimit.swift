internal import Glibc

/// How many sockets the process may hold.
enum DescriptorLimit {
    /// Raises the soft limit to the hard one: a load test opens more connections than the usual 1024. A system that refuses
    /// leaves the limit as it was, which only matters to such a test.
    static func raise() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
