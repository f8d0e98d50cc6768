internal import Glibc
package import TokenModel

/// Creates and replaces files atomically: a file exists with all of its contents or not at all, even after a crash or
/// a power loss.
package enum WholeFile {
    /// Creates the file at `path`, readable and writable by its owner only. The contents are written under a temporary
    /// name beside it, synced, then linked to `path`. So exactly one of several processes creates the file.
    ///
    /// - Returns: whether this call created the file; `false` leaves the existing file unchanged.
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

    /// Waits until the names in a directory would survive a power loss.
    package static func synchronize(directory: String) throws(SystemCallError) {
        try OpenFile(opening: directory, O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// The directory of `path`; `.` for a bare name.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension WholeFile {
    /// Replaces the regular file at `path` with `contents`, readable and writable by its owner only. A process that
    /// opens the file gets either the old or the new contents, in full.
    package static func replace(at path: String, with contents: Secret) throws(SystemCallError) {
        let temporary = "\(path).\(UInt64.random(in: .min ... .max)).tmp"
        do throws(SystemCallError) {
            let file = try OpenFile(opening: temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try file.write(contents)
            try file.synchronize()
            guard unsafe rename(temporary, path) == 0 else { throw SystemCallError(errno, "can't replace \(path)") }
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try Self.synchronize(directory: Self.directory(of: path))
    }
}

/// Directories whose files belong to this program alone.
package enum PrivateDirectory {
    /// Creates the directory for its owner only, if it is missing.
    ///
    /// - Throws: if `path` is anything but a directory of this user; a symbolic link to one is refused, too.
    package static func make(_ path: String) throws(SystemCallError) {
        if unsafe mkdir(path, 0o700) == 0 {
            try WholeFile.synchronize(directory: WholeFile.directory(of: path))
            return
        }
        guard errno == EEXIST else { throw SystemCallError(errno, "can't make \(path)") }
        let ownership = try OpenFile(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).ownership()
        guard ownership.owner == geteuid() else { throw SystemCallError(EPERM, "\(path) is another user's") }
    }

    /// The names in a directory, sorted, without those that begin with a dot.
    package static func names(in path: String) throws(SystemCallError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw SystemCallError(errno, "can't list \(path)") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes a file. A missing file is no error.
    package static func remove(_ path: String) throws(SystemCallError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw SystemCallError(errno, "can't remove \(path)")
        }
    }
}
