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

/// Has the configuration read again with each SIGHUP, one after the other, until the gateway is told to stop.
struct HangupService: Service {
    /// Trapped from the moment it is made. Whoever holds this to the end keeps the signal from ending the process.
    let hangups: UnixSignalsSequence
    let reloader: Reloader
    /// What the gateway was started with.
    let configuration: RunningConfiguration

    func run() async throws {
        var running = self.configuration
        for await _ in self.hangups.cancelOnGracefulShutdown() {
            running = await self.reloader.reload(from: running)
        }
    }
}
