package import NIOCore
internal import Synchronization
package import TokenModel

/// A request to the upstream whose response may be stored, and for which others wait.
///
/// One exchange owns it, and calls it on one thread at a time. It ends with ``finish(_:)``,
/// ``revalidated(_:as:isShared:)`` or ``abandon(_:remember:now:)``; dropping it abandons it.
package final class CacheFill: Sendable {
    private enum Phase {
        case waitsForHead
        case fills(StoredBody)
        case ended
    }

    /// How long nobody waits for a request with a key whose response was streaming or can't be stored.
    static let uncollapsible = Duration.seconds(60)

    private let cache: ResponseCache
    private let key: CacheKey
    private let serial: UInt64
    private let phase = Mutex(Phase.waitsForHead)

    init(_ cache: ResponseCache, _ key: CacheKey, serial: UInt64) {
        self.cache = cache
        self.key = key
        self.serial = serial
    }

    deinit { self.abandon(.retry, remember: false) }

    /// Begins to store a response whose head has come.
    ///
    /// - Parameters:
    ///   - length: of its body, if the head says it.
    ///   - headSize: about what it takes without its key and body. There is room for it when the body is complete.
    ///   - isShared: those who wait can use the response when it is stored. Otherwise they go alone now.
    /// - Returns: `false` if the body is too large or there is no room. The fill is abandoned then, and its key
    ///   remembered.
    package func start(
        length: Int?,
        headSize: Int = 0,
        isShared: Bool = true,
        now: BootInstant = .now
    ) -> Bool {
        guard case .waitsForHead = self.phase.withLock({ $0 }) else { return false }
        let body = self.cache.emptyBody(length: length)
        guard self.reserve(length ?? 0, for: body, beside: EntryTable.charge(headSize: headSize, self.key)) else {
            self.abandon(.goAlone, remember: true, now: now)
            return false
        }
        if !isShared { self.cache.release(self.key, serial: self.serial) }
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
            self.abandon(.goAlone, remember: true, now: now)
            return false
        }
        return true
    }

    /// Stores the response, unless the cache was purged or the resource invalidated meanwhile.
    ///
    /// - Parameter make: makes the response of its complete body. `nil` ends the fill as one that can't be stored.
    package func finish(_ make: (StoredBody) -> StoredResponse?) -> StoredResponse? {
        guard case .fills(let body) = self.end() else { return nil }
        body.seal()
        guard let stored = make(body), self.cache.store(stored, at: self.key, serial: self.serial) else {
            self.cache.settle(self.key, serial: self.serial, .goAlone)
            return nil
        }
        return stored
    }

    /// Stores `new` in place of `old`, which the upstream says is still valid (RFC 9111 §4.3.4).
    ///
    /// - Parameter isShared: those who wait can use the response. Otherwise they go alone.
    /// - Returns: whether it is stored; not if the cache was purged or the resource invalidated meanwhile.
    package func revalidated(_ old: StoredResponse, as new: StoredResponse, isShared: Bool = true) -> Bool {
        guard case .waitsForHead = self.end() else { return false }
        if !isShared { self.cache.release(self.key, serial: self.serial) }
        guard self.cache.store(new, insteadOf: old, at: self.key, serial: self.serial) else {
            self.cache.settle(self.key, serial: self.serial, .goAlone)
            return false
        }
        return true
    }

    /// Ends without storing anything. Does nothing if the fill has ended.
    ///
    /// - Parameters:
    ///   - outcome: what those who wait do now.
    ///   - remember: the response was streaming or can't be stored. For a minute nobody waits for a request with this
    ///     key.
    package func abandon(_ outcome: CollapseOutcome, remember: Bool, now: BootInstant = .now) {
        if case .ended = self.end() { return }
        self.cache.settle(
            self.key,
            serial: self.serial,
            outcome,
            uncollapsibleUntil: remember ? now.advanced(by: Self.uncollapsible) : nil
        )
    }

    private func end() -> Phase {
        self.phase.withLock { phase in
            defer { phase = .ended }
            return phase
        }
    }

    /// Has `body` hold what it may cost with `count` bytes, and `charge` on top.
    private func reserve(_ count: Int, for body: StoredBody, beside charge: Int = 0) -> Bool {
        guard count <= self.cache.maxObject else { return false }
        let missing = body.cost(at: count) + charge - body.charge
        guard missing > 0 else { return true }
        guard self.cache.makeRoom(missing) else { return false }
        body.hold(missing)
        return true
    }
}
