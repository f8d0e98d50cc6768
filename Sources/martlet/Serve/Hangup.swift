internal import Glibc

/// SIGHUP, which a closing terminal sends too.
enum Hangup {
    /// Keeps it from ending the process in the middle of a refresh; reading the configuration again is not supported yet.
    static func ignore() {
        _ = signal(SIGHUP, SIG_IGN)
    }
}
