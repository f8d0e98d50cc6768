import FoundationEssentials

/// Lends a new directory, which is gone afterwards.
func inTemporaryDirectory(_ body: (_ path: String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.path + "/martlet-settings-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

/// Writes a file and returns its path.
@discardableResult
func write(_ content: String, to path: String, mode: Int = 0o644) throws -> String {
    try write(Data(content.utf8), to: path, mode: mode)
}

@discardableResult
func write(_ content: Data, to path: String, mode: Int = 0o644) throws -> String {
    try content.write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
}
