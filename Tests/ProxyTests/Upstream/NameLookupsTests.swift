import Dispatch
import NIOCore
import NIOPosix
import Proxy
import Synchronization
import TestKit
import Testing

@Suite struct NameLookupsTests {
    /// A resolver that answers when a test tells it to.
    private final class ScriptedAsk: Sendable {
        let begun = Atomic(0)
        private let answers = DispatchSemaphore(value: 0)
        private let addresses: [SocketAddress]?

        init(_ addresses: [SocketAddress]?) { self.addresses = addresses }

        func ask() -> [SocketAddress]? {
            self.begun.add(1, ordering: .sequentiallyConsistent)
            _ = self.answers.wait(timeout: .now() + 60)
            return self.addresses
        }

        func answer() { self.answers.signal() }

        var count: Int { self.begun.load(ordering: .sequentiallyConsistent) }
    }

    private static let addresses: [SocketAddress]? = (try? SocketAddress(ipAddress: "192.0.2.1", port: 1)).map { [$0] }
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test func `connections share a lookup that has not begun, but none that has`() async throws {
        let resolver = ScriptedAsk(Self.addresses)
        let lookups = NameLookups(host: "a", port: 1) { _, _ in resolver.ask() }
        let first = lookups.search(on: self.eventLoop)
        try await eventually("a lookup") { resolver.count == 1 }
        let others = (1...100).map { _ in lookups.search(on: self.eventLoop) }
        resolver.answer()
        #expect(try await first.addresses.get() == Self.addresses)
        resolver.answer()
        for other in others { #expect(try await other.addresses.get() == Self.addresses) }
        #expect(resolver.count == 2)
        // A later search causes a new lookup.
        let last = lookups.search(on: self.eventLoop)
        resolver.answer()
        _ = try await last.addresses.get()
        #expect(resolver.count == 3)
    }

    @Test func `a lookup that nobody waits for any more does not begin`() async throws {
        let resolver = ScriptedAsk(Self.addresses)
        let lookups = NameLookups(host: "a", port: 1) { _, _ in resolver.ask() }
        let first = lookups.search(on: self.eventLoop)
        try await eventually("a lookup") { resolver.count == 1 }
        for _ in 1...2 {
            let left = lookups.search(on: self.eventLoop)
            left.cancel()
            await #expect(throws: NameUnknown.self) { try await left.addresses.get() }
        }
        first.cancel()
        resolver.answer()
        // The lookup had begun, so the cancellation came too late.
        #expect(try await first.addresses.get() == Self.addresses)
        let last = lookups.search(on: self.eventLoop)
        resolver.answer()
        _ = try await last.addresses.get()
        #expect(resolver.count == 2)
    }

    @Test func `a name without addresses is reported to all that wait`() async throws {
        let resolver = ScriptedAsk(nil)
        let lookups = NameLookups(host: "a", port: 1) { _, _ in resolver.ask() }
        let searches = (1...3).map { _ in lookups.search(on: self.eventLoop) }
        resolver.answer()
        resolver.answer()
        for search in searches {
            await #expect(throws: NameUnknown.self) { try await search.addresses.get() }
        }
    }
}
