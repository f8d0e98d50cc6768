import NIOSSL
import Synchronization

/// TLS as new connections speak it: it may be renewed while older ones go on with what they began with.
final class RenewableContext: Sendable {
    private let context: Mutex<NIOSSLContext>

    init(_ configuration: TLSConfiguration) throws {
        self.context = Mutex(try NIOSSLContext(configuration: configuration))
    }

    /// Taken once per connection, so the lock is nothing beside the handshake.
    var current: NIOSSLContext { self.context.withLock { $0 } }

    /// From now on new connections speak TLS as `other`'s would.
    ///
    /// - Returns: whether anything is different.
    func renew(from other: RenewableContext) -> Bool {
        let renewed = other.current
        return self.context.withLock { context in
            let isSame = context.configuration.bestEffortEquals(renewed.configuration)
            context = renewed
            return !isSame
        }
    }
}
