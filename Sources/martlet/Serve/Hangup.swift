internal import Glibc
internal import ServiceLifecycle
internal import UnixSignals

/// SIGHUP, which operators send when the configuration or a certificate has changed, and a closing terminal sends too.
enum Hangup {
    /// Keeps it from ending the process while that starts.
    static func ignore() {
        _ = signal(SIGHUP, SIG_IGN)
    }
}

/// Has something done with each SIGHUP, one after the other, until the gateway is told to stop.
struct HangupService: Service {
    /// Trapped from the moment it is made. Whoever holds this to the end keeps the signal from ending the process.
    let hangups: UnixSignalsSequence
    let action: @Sendable () async -> Void

    func run() async throws {
        for await _ in self.hangups.cancelOnGracefulShutdown() { await self.action() }
    }
}
