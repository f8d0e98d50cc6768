internal import Glibc
package import TokenModel

/// Files that hold one secret.
package enum SecretFile {
    /// Reads the secret in the file at `path`, without the newline at its end.
    ///
    /// Refuses a file that this user could write and its group or others can read, an empty one, one over 64 KiB, and
    /// what is not a file.
    package static func read(_ path: String) throws(FileError) -> Secret {
        // A pipe without a writer must not hold up the start.
        let file = try OpenFile(path, waits: false)
        let ownership = try file.ownership()
        guard ownership.isRegular else { throw FileError(.unreadable, "is not a regular file") }
        guard !ownership.isExposed(to: geteuid(), access: FileOwnership.writeAccess(to: path)) else {
            let mode = "0" + String(ownership.mode, radix: 8)
            throw FileError(.exposed, "can be read by others (mode \(mode)); run chmod 600 on it")
        }
        var bytes = try file.bytes(atMost: 64 << 10)
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty else { throw FileError(.empty, "is empty") }
        return Secret(bytes)
    }
}
