package import FoundationEssentials

/// Lends a new directory, which is gone afterwards.
package func inTemporaryDirectory(_ body: (_ path: String) throws -> Void) throws {
    let directory = try TemporaryDirectory()
    try body(directory.path)
}

/// Writes a file and returns its path.
@discardableResult
package func write(_ content: String, to path: String, mode: Int = 0o644) throws -> String {
    try write(Data(content.utf8), to: path, mode: mode)
}

/// Writes a file and returns its path.
@discardableResult
package func write(_ content: Data, to path: String, mode: Int = 0o644) throws -> String {
    try content.write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
}
