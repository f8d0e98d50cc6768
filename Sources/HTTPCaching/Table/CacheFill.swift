package import NIOCore
internal import Synchronization
package import TokenModel

/// A request to the upstream whose response may be stored, and for which others wait.
///
/// One exchange owns it, and calls it on one thread at a time. It ends with ``finish(_:)``, ``revalidated(_:as:)`` or
/// ``abandon(remember:now:)``; dropping it abandons it.
package final class CacheFill: Sendable {
    private enum Phase {
        case waitsForHead
        case fills(StoredBody)
        case ended
    }

    /// How long nobody waits for a request with a key whose response was streaming or can't be stored.
    private static let uncollapsible = Duration.seconds(60)

    private let cache: ResponseCache
    private let key: CacheKey
    private let serial: UInt64
    private let phase = Mutex(Phase.waitsForHead)

    init(_ cache: ResponseCache, _ key: CacheKey, serial: UInt64) {
        self.cache = cache
        self.key = key
        self.serial = serial
    }

    deinit { self.abandon(remember: false) }

    /// Begins to store a response whose head has come.
    ///
    /// - Parameter length: of its body, if the head says it.
    /// - Returns: `false` if the body is too large or there is no room. The fill is abandoned then, and its key
    ///   remembered.
    package func start(length: Int?, now: BootInstant = .now) -> Bool {
        guard case .waitsForHead = self.phase.withLock({ $0 }) else { return false }
        let body = self.cache.emptyBody()
        guard self.reserve(length ?? 0, for: body) else {
            self.abandon(remember: true, now: now)
            return false
        }
        self.phase.withLock { $0 = .fills(body) }
        return true
    }

    /// Stores the next bytes of the body.
    ///
    /// - Returns: `false` if the body is too large or there is no room. The fill is abandoned then, and its key
    ///   remembered.
    package func append(_ bytes: ByteBuffer, now: BootInstant = .now) -> Bool {
        guard case .fills(let body) = self.phase.withLock({ $0 }) else { return false }
        guard self.reserve(body.count + bytes.readableBytes, for: body), body.append(bytes) else {
            self.abandon(remember: true, now: now)
            return false
        }
        return true
    }

    /// Stores the response, unless the cache was purged or the resource invalidated meanwhile.
    ///
    /// - Parameter make: makes the response of its complete body. `nil` ends the fill as one that can't be stored.
    package func finish(_ make: (StoredBody) -> StoredResponse?) -> StoredResponse? {
        guard case .fills(let body) = self.end() else {
            self.abandon(remember: false)
            return nil
        }
        body.seal()
        guard let stored = make(body), self.cache.store(stored, at: self.key, serial: self.serial) else {
            self.cache.settle(self.key, serial: self.serial, .goAlone)
            return nil
        }
        return stored
    }

    /// Stores `new` in place of `old`, which the upstream says is still valid (RFC 9111 §4.3.4).
    ///
    /// - Returns: whether it is stored; not if the cache was purged or the resource invalidated meanwhile.
    package func revalidated(_ old: StoredResponse, as new: StoredResponse) -> Bool {
        _ = self.end()
        guard self.cache.store(new, insteadOf: old, at: self.key, serial: self.serial) else {
            self.cache.settle(self.key, serial: self.serial, .goAlone)
            return false
        }
        return true
    }

    /// Ends without storing anything. Nobody is told twice: if the fill has ended, this does nothing.
    ///
    /// - Parameter remember: whether the response was streaming or can't be stored. Those who wait go alone then, and
    ///   for a minute nobody waits for a request with this key. Otherwise one of them leads next.
    package func abandon(remember: Bool, now: BootInstant = .now) {
        _ = self.end()
        self.cache.settle(
            self.key,
            serial: self.serial,
            remember ? .goAlone : .retry,
            uncollapsibleUntil: remember ? now.advanced(by: Self.uncollapsible) : nil
        )
    }

    private func end() -> Phase {
        self.phase.withLock { phase in
            defer { phase = .ended }
            return phase
        }
    }

    /// Has `body` hold what a body of `count` bytes may need.
    private func reserve(_ count: Int, for body: StoredBody) -> Bool {
        guard count <= self.cache.maxObject else { return false }
        let missing = StoredBody.room(for: count) - body.charge
        guard missing > 0 else { return true }
        guard self.cache.makeRoom(missing) else { return false }
        body.hold(missing)
        return true
    }
}
