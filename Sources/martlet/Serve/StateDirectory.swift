internal import Foundation
internal import Glibc
internal import LocalFiles

/// Where the gateway keeps what it writes: the store, its key, the admin token.
enum StateDirectory {
    /// Makes the directory, for its owner only, where there is none.
    static func make(_ path: String) throws(CommandFailure) {
        var isDirectory: ObjCBool = false
        if unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            guard isDirectory.boolValue else {
                throw CommandFailure(
                    .badConfiguration,
                    "state_dir \(path) is not a directory; name another or move it away"
                )
            }
            return
        }
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

    /// Refuses a directory in which others could put a key or a token of theirs.
    private static func checkOwnership(of path: String) throws(CommandFailure) {
        let ownership: FileOwnership
        do throws(SystemCallError) {
            ownership = try OpenFile(opening: path, O_RDONLY | O_DIRECTORY).ownership()
        } catch {
            throw CommandFailure(.badConfiguration, "state_dir: \(error.message)")
        }
        guard ownership.owner == geteuid() || ownership.owner == 0, ownership.mode & 0o022 == 0 else {
            throw CommandFailure(
                .badConfiguration,
                "state_dir \(path) can be written by others; it must be this user's own: chmod 700 \(path)"
            )
        }
    }
}
