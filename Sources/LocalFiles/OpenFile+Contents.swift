internal import Glibc

extension OpenFile {
    /// All of the regular file at `path`. A pipe or a device is refused, and not waited for.
    ///
    /// - Parameter limit: in bytes; a larger file is refused.
    package static func contents(of path: String, limit: Int) throws(FileError) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK)
            bytes = try file.ownership().isRegular ? try file.read(limit: limit + 1) : nil
        } catch {
            throw FileError(error)
        }
        guard let bytes else { throw FileError(.unreadable, "is not a regular file") }
        guard bytes.count <= limit else { throw FileError(.tooLarge, "is larger than \(limit >> 20)MiB") }
        return bytes
    }
}
