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

extension WholeFile {
    /// Puts `contents` in the place of the regular file at `path`, readable and writable by its owner only: whoever opens it
    /// gets the old or the new, whole.
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

/// Directories of files that are this program's alone.
package enum PrivateDirectory {
    /// Makes the directory, for its owner only, where there is none.
    ///
    /// - Throws: where `path` is anything else than a directory of this user's own, also a symbolic link to one.
    package static func make(_ path: String) throws(SystemCallError) {
        if unsafe mkdir(path, 0o700) == 0 {
            try WholeFile.synchronize(directory: WholeFile.directory(of: path))
            return
        }
        guard errno == EEXIST else { throw SystemCallError(errno, "can't make \(path)") }
        let ownership = try OpenFile(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).ownership()
        guard ownership.owner == geteuid() else { throw SystemCallError(EPERM, "\(path) is another user's") }
    }

    /// The names in a directory, sorted; those that begin with a dot are left out.
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

    /// Takes the name of a file away; a missing one is none.
    package static func remove(_ path: String) throws(SystemCallError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw SystemCallError(errno, "can't remove \(path)")
        }
    }
}
