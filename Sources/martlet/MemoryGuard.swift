internal import CShims
internal import Glibc

/// Keeps the process's memory, where tokens and keys are, from being written or read by anything else.
///
/// Root can still read it, and so can the kernel's swap: see the threat model.
enum MemoryGuard {
    /// No core is written when the process crashes, nothing of its memory is printed, and no other process of this user may
    /// attach to it.
    ///
    /// - Throws: where the system refuses, which it has no reason to.
    static func raise() throws(CommandFailure) {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0, martlet_forbid_dumps() == 0
        else {
            throw CommandFailure(.unavailable, "the system does not let this process forbid core dumps: error \(errno)")
        }
        // What the Swift runtime catches for its backtrace, which shows registers and the memory that they point to: on a
        // terminal it does so unless SWIFT_BACKTRACE forbids it. The line that says why a trap was met comes all the same.
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { _ = signal(number, SIG_DFL) }
    }

    /// Neither this process nor one that it starts gains rights that it has not. To be called on the main thread before
    /// there is another, since it holds for the thread and those that come from it.
    static func forbidNewRights() {
        // It fails only on a kernel that does not know it (before Linux 3.5).
        _ = martlet_forbid_new_privileges()
    }
}
