internal import CShims
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import NIOCore
internal import SystemSupport

/// The directory for the gateway's files: the store, its key, the admin token.
enum StateDirectory {
    /// Whether the directory exists.
    ///
    /// - Throws: if the path is not a directory.
    static func exists(_ path: String) throws(StartError) -> Bool {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return false }
        guard isDirectory else {
            throw StartError(
                .badConfiguration,
                "state_dir \(path) is not a directory; name another or move it away"
            )
        }
        return true
    }

    /// Creates the directory, accessible to its owner only, if it doesn't exist.
    static func make(_ path: String) throws(StartError) {
        let isThere = try Self.exists(path)
        guard !isThere else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw StartError(
                .badConfiguration,
                "state_dir \(path) can't be made; name a directory that this user may make, or make it"
            )
        }
    }

    /// Logs a warning if other users could remove the directory's files or replace them with older ones. A file's owner
    /// is checked when it is read, but that doesn't show whether it is the version that this user wrote.
    ///
    /// This doesn't prevent a start: volumes writable by a group are common, and users often can't change that.
    static func warnIfExposed(_ path: String, logger: Logger) {
        guard let ownership = try? OpenFile(opening: path, O_RDONLY | O_DIRECTORY).ownership() else { return }
        let isForeign = ownership.owner != geteuid() && ownership.owner != 0
        guard isForeign || ownership.mode & 0o022 != 0 else { return }
        logger.warning(
            "state_dir can be changed by others, who could take tokens away or put old ones back: its mode should be 0700",
            metadata: ["file.path": "\(path)", "file.mode": "0\(String(ownership.mode, radix: 8))"]
        )
    }
}

/// The name of this machine.
package enum HostName {
    package static let text: String = {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}

/// The number of event loops that serve callers.
enum EventLoopCount {
    /// One for each core that this process may use according to its CPU affinity and its control group. Additional
    /// loops would only compete for the same cores.
    static var standard: Int {
        let allowed = Int(martlet_allowed_cores())
        return allowed > 0 ? min(allowed, System.coreCount) : System.coreCount
    }
}
