internal import Glibc

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
