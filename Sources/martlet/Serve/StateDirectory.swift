internal import Foundation

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
}
