package import NIOCore
import Synchronization

/// How many connections one address may have, over all event loops.
package final class AddressLimit: Sendable {
    private let most: Atomic<Int>
    private let counts = Mutex<[CallerNetwork: Int]>([:])

    /// - Parameter limit: 0 for any number.
    package init(_ limit: Int) {
        self.most = Atomic(limit)
    }

    /// How many; 0 for any number. What came while there was no limit is not counted.
    package var limit: Int {
        get { self.most.load(ordering: .relaxed) }
        set { self.most.store(newValue, ordering: .relaxed) }
    }

    /// There is a limit at all.
    package var isSet: Bool { self.limit > 0 }

    /// Addresses that have connections now.
    package var count: Int { self.counts.withLock(\.count) }

    /// Takes a place of an address, if it has one left.
    package func enter(_ address: CallerNetwork) -> Bool {
        let limit = self.limit
        return self.counts.withLock { counts in
            let count = counts[address] ?? 0
            guard count < limit || limit == 0 else { return false }
            counts[address] = count + 1
            return true
        }
    }

    /// Gives a place back.
    package func leave(_ address: CallerNetwork) {
        self.counts.withLock { counts in
            // Else each address that ever came would be remembered.
            counts[address] = counts[address].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }
}

/// Where a caller's connections come from, as far as it tells one caller from another: an IPv4 address, or the first 64
/// bits of an IPv6 one, since whoever has one of those has all that begin so (RFC 6177 §2).
package enum CallerNetwork: Hashable, Sendable {
    case v4(UInt32)
    case v6(UInt64)

    /// - Returns: `nil` for what has no such address, like a Unix socket.
    package init?(_ address: SocketAddress) {
        switch address {
        case .v4:
            self = .v4(UInt32(bigEndian: Self.load(at: 4, of: address)))
        case .v6:
            let first = UInt64(bigEndian: Self.load(at: 8, of: address))
            let second = UInt64(bigEndian: Self.load(at: 16, of: address))
            // An IPv4 caller of a socket that takes both kinds (RFC 4291 §2.5.5.2).
            let isMapped = first == 0 && second >> 32 == 0xFFFF
            self = isMapped ? .v4(UInt32(truncatingIfNeeded: second)) : .v6(first)
        case .unixDomainSocket:
            return nil
        }
    }

    /// Reads from the system's form of an address, as ip(7) and ipv6(7) lay it out.
    private static func load<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, of address: SocketAddress)
        -> Value
    {
        unsafe address.withSockAddr { pointer, size in
            let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: size)
            return unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Value.self)
        }
    }
}
