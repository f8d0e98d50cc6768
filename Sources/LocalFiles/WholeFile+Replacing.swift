internal import Glibc
package import TokenModel

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
