import Dispatch
import Synchronization
import TestKit
import TokenModel

/// Situations that several tests begin with.
extension Rig {
    /// Sends `request`, and returns when the upstream has its head.
    func begun(
        _ request: String = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
    ) async throws -> (caller: Peer, upstream: Peer) {
        let caller = try await self.caller()
        try await caller.send(request)
        let upstream = try await self.upstream.accept()
        _ = try await upstream.head()
        return (caller, upstream)
    }

    /// Stalls the event loop in a request that has just taken an upstream connection, and carries a token for the first
    /// time. For rigs with one event loop.
    ///
    /// - Parameter send: sends a request that takes an upstream connection.
    /// - Returns: the stalled loop. The test must call ``StalledLoop/goOn()``, even if it fails.
    func stall(_ send: () async throws -> Void) async throws -> StalledLoop {
        let loop = self.stallNext(with: .sample(2))
        do {
            try await self.settle()
            try await send()
            try await self.expectStalled(loop)
        } catch {
            loop.goOn()
            throw error
        }
        return loop
    }

    /// Installs `credential`, and has the event loop stall in the first request that carries it.
    func stallNext(with credential: UpstreamCredential) -> StalledLoop {
        let loop = StalledLoop()
        self.credentials.whileUsing.withLock { $0 = { loop.stand() } }
        self.install(credential)
        return loop
    }

    /// Waits until the event loop is stalled. No later request stalls it.
    func expectStalled(_ loop: StalledLoop) async throws {
        defer { self.credentials.whileUsing.withLock { $0 = nil } }
        try await eventually("a loop that stands still") { loop.stands }
    }
}

/// An event loop that is stalled until ``goOn()``.
final class StalledLoop: Sendable {
    private let stalled = SentFlag()
    private let mayGoOn = DispatchSemaphore(value: 0)

    var stands: Bool { self.stalled.isSet }

    func stand() {
        self.stalled.set()
        self.mayGoOn.wait()
    }

    func goOn() { self.mayGoOn.signal() }
}
