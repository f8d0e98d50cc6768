import Foundation
import TestKit

/// A network namespace that has only the loopback device. When a listener closes, its kernel moves the pending
/// connections to another listener on the same port (`net.ipv4.tcp_migrate_req`).
final class OwnNetwork: Sendable {
    /// The process that keeps the namespace alive.
    private let holder: Program

    private init(_ holder: Program) { self.holder = holder }

    /// The command prefix that runs a program in the namespace.
    var wrapper: [String] { ["/usr/bin/nsenter", "-t", "\(self.holder.id)", "-n"] }

    deinit { self.holder.signal(9) }

    /// Whether this user and this system can create a namespace.
    static func isAvailable() async throws -> Bool {
        try await Self.enter(in: TemporaryDirectory()) != nil
    }

    /// - Returns: `nil` if this user or this system can't create a namespace.
    static func enter(in directory: TemporaryDirectory) async throws -> OwnNetwork? {
        guard geteuid() == 0, FileManager.default.fileExists(atPath: "/usr/bin/unshare") else { return nil }
        let setUp = "ip link set lo up && echo 1 >/proc/sys/net/ipv4/tcp_migrate_req && echo ready && exec sleep 300"
        let holder = try Program("/usr/bin/unshare", ["-n", "/bin/sh", "-c", setUp], in: directory)
        try await eventually("a network, or none") { holder.written.contains("ready") || !holder.isRunning }
        return holder.isRunning ? OwnNetwork(holder) : nil
    }
}
