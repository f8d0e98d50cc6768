import Foundation
import TestKit

/// A network of its own, with nothing but loopback, in which the kernel hands connections of a listener that closes to
/// another one of the same port (`net.ipv4.tcp_migrate_req`).
final class OwnNetwork: Sendable {
    /// Keeps it.
    private let holder: Program

    private init(_ holder: Program) { self.holder = holder }

    /// What stands before a command that is to run there.
    var wrapper: [String] { ["/usr/bin/nsenter", "-t", "\(self.holder.id)", "-n"] }

    deinit { self.holder.signal(9) }

    /// Whether this user and this system can have one.
    static func isAvailable() async throws -> Bool {
        try await Self.enter(in: TemporaryDirectory()) != nil
    }

    /// - Returns: `nil` where this user or this system can't have one.
    static func enter(in directory: TemporaryDirectory) async throws -> OwnNetwork? {
        guard geteuid() == 0, FileManager.default.fileExists(atPath: "/usr/bin/unshare") else { return nil }
        let setUp = "ip link set lo up && echo 1 >/proc/sys/net/ipv4/tcp_migrate_req && echo ready && exec sleep 300"
        let holder = try Program("/usr/bin/unshare", ["-n", "/bin/sh", "-c", setUp], in: directory)
        try await eventually("a network, or none") { holder.written.contains("ready") || !holder.isRunning }
        return holder.isRunning ? OwnNetwork(holder) : nil
    }
}
