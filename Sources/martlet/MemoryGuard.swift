internal import AdminCLI
internal import CShims
internal import Glibc

/// Protects the process's memory, which holds tokens and keys, from being dumped to disk or read by other processes.
///
/// Root can still read it, and the kernel can still write it to swap: see the threat model.
enum MemoryGuard {
    /// Disables core dumps and crash backtraces, and keeps other processes of this user from attaching to this one.
    ///
    /// - Throws: if the system refuses, which is not expected.
    static func raise() throws(CommandFailure) {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0, martlet_forbid_dumps() == 0
        else {
            throw CommandFailure(.unavailable, "the system does not let this process forbid core dumps: error \(errno)")
        }
        // The Swift runtime catches these signals to print a backtrace, which shows registers and the memory they point
        // to. It does so on a terminal unless SWIFT_BACKTRACE forbids it. The line that gives the reason for a trap is
        // printed all the same.
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { _ = signal(number, SIG_DFL) }
    }

    /// Keeps this process and its children from gaining privileges. Call it on the main thread before any other thread
    /// exists: the setting applies to the calling thread and to the threads it creates.
    static func forbidNewRights() {
        // This call fails only on kernels that don't have the feature (before Linux 3.5).
        _ = martlet_forbid_new_privileges()
    }
}
