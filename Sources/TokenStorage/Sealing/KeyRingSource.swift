internal import Glibc
internal import Synchronization

/// A source of a store's keys.
package protocol KeyRingSource: Sendable {
    /// The existing keys; `nil` if none have been made yet.
    func existing() throws(KeyRingError) -> KeyRing?

    /// Makes the first key, for a new store. If several processes do this at once, all get the same key.
    ///
    /// - Throws: ``KeyRingError/Code/missing`` if the operator must provide the keys.
    func make() throws(KeyRingError) -> KeyRing

    /// The name of the source in messages, such as a path.
    var name: String { get }

    /// A value that changes whenever ``existing()`` changes; `nil` if that never changes or there are no keys.
    var revision: KeyRingRevision? { get }
}

extension KeyRingSource {
    package var revision: KeyRingRevision? { nil }
}

/// Detects that a source of keys has changed, without reading a key.
package enum KeyRingRevision: Equatable, Sendable {
    case file(inode: UInt64, size: Int64, seconds: Int64, nanoseconds: Int64)
    /// How often keys that are held in memory were replaced.
    case held(UInt64)

    /// The revision of the file at `path`; `nil` if there is none.
    init?(ofFile path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self = .file(
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            seconds: Int64(status.st_mtim.tv_sec),
            nanoseconds: Int64(status.st_mtim.tv_nsec)
        )
    }
}

/// Fixed keys, for instance from an environment variable. This source never makes a key.
package struct GivenKeyRing: KeyRingSource {
    private let keyRing: KeyRing
    package let name: String

    /// - Parameter name: the origin of the keys, for messages.
    package init(_ keyRing: KeyRing, name: String) {
        self.keyRing = keyRing
        self.name = name
    }

    /// - Throws: ``KeyRingError/Code/malformed`` for text that holds no keys.
    package init(_ text: KeyRingText) throws(KeyRingError) {
        self.init(try text.parsed(), name: text.name)
    }

    package func existing() throws(KeyRingError) -> KeyRing? { self.keyRing }

    package func make() throws(KeyRingError) -> KeyRing { self.keyRing }
}

/// Keys that this process holds in memory and that can be replaced, such as those that a program printed.
package final class HeldKeyRing: KeyRingSource {
    private struct State {
        var ring: KeyRing
        var replacements: UInt64 = 0
    }

    private let state: Mutex<State>
    package let name: String

    /// - Parameter name: the origin of the keys, for messages.
    package init(_ ring: KeyRing, name: String) {
        self.state = Mutex(State(ring: ring))
        self.name = name
    }

    package var revision: KeyRingRevision? { .held(self.state.withLock { $0.replacements }) }

    package func existing() throws(KeyRingError) -> KeyRing? { self.state.withLock { $0.ring } }

    package func make() throws(KeyRingError) -> KeyRing { self.state.withLock { $0.ring } }

    /// Takes other keys in place of these. An open store goes over to them if they open it (``LiveKeyRing``).
    package func replace(_ ring: KeyRing) {
        self.state.withLock { state in
            guard ring != state.ring else { return }
            state.ring = ring
            state.replacements += 1
        }
    }
}
