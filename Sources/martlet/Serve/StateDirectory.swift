internal import FoundationEssentials
internal import Glibc
internal import LocalFiles
internal import Logging

/// Where the gateway keeps what it writes: the store, its key, the admin token.
enum StateDirectory {
    /// Whether it is there.
    ///
    /// - Throws: where something else is.
    static func exists(_ path: String) throws(CommandFailure) -> Bool {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return false }
        guard isDirectory else {
            throw CommandFailure(
                .badConfiguration,
                "state_dir \(path) is not a directory; name another or move it away"
            )
        }
        return true
    }

    /// Makes the directory, for its owner only, where there is none.
    static func make(_ path: String) throws(CommandFailure) {
        let isThere = try Self.exists(path)
        guard !isThere else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw CommandFailure(
                .badConfiguration,
                "state_dir \(path) can't be made; name a directory that this user may make, or make it"
            )
        }
    }

    /// Says so where others could take away, or replace by an older one, what is kept there: the files tell by themselves
    /// whether they are this user's, but not whether they are those that this user had put there.
    ///
    /// That is no reason not to start: volumes that a group may write are common, and their users can't help it.
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
