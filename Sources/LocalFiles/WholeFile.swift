internal import Glibc
package import TokenModel

/// Files that are there with all of their contents, or not at all, whatever process or power fails between.
package enum WholeFile {
    /// Makes the file at `path`, readable and writable by its owner only: written under a temporary name beside it,
    /// synced, then linked to its own name, so that of several processes exactly one makes it.
    ///
    /// - Returns: whether this call made it; `false` leaves what another had made before.
    package static func create(at path: String, holding contents: Secret) throws(SystemCallError) -> Bool {
        let directory = Self.directory(of: path)
        let temporary = "\(path).\(UInt64.random(in: .min ... .max)).tmp"
        let file = try OpenFile(opening: temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        defer { unsafe unlink(temporary) }
        try file.write(contents)
        try file.synchronize()
        guard unsafe link(temporary, path) == 0 else {
            guard errno != EEXIST else { return false }
            throw SystemCallError(errno, "can't make \(path)")
        }
        try Self.synchronize(directory: directory)
        return true
    }

    /// Returns when the names in a directory would survive a loss of power.
    package static func synchronize(directory: String) throws(SystemCallError) {
        try OpenFile(opening: directory, O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// The directory that `path` stands in; `.` for a bare name.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
