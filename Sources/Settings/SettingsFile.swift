internal import FoundationEssentials
internal import SystemSupport
internal import TokenModel

/// The configuration on disk.
package enum SettingsFile {
    /// Reads the file at `path` and all files that it refers to, or throws every fault.
    ///
    /// - Parameter path: as the operator gave it, relative to the working directory; faults name the file this way.
    ///   Paths in the file are relative to the directory of this path, even if the path is a symbolic link.
    /// - Parameter certificateFault: as ``SettingsEnvironment/certificateFault``.
    package static func load(
        path: String,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        certificateFault: @escaping @Sendable (CertificateQuestion) -> String? = { _ in nil }
    ) throws(SettingsError) -> GatewaySettings {
        let surroundings = SettingsEnvironment(
            configurationDirectory: Self.directory(of: path),
            variables: variables,
            certificateFault: certificateFault
        )
        return try SettingsReader(file: path, surroundings: surroundings).read(try Self.text(of: path))
    }

    /// As ``load(path:variables:certificateFault:)``, but reads only the part that ``SettingsReader/readAdmin(_:)``
    /// returns, and none of the files that the file refers to.
    ///
    /// - Parameter isFound: the file was found in the working directory, and the user did not name it. Then it is
    ///   refused if it belongs to another user or if others can write it.
    package static func loadAdmin(
        path: String,
        isFound: Bool,
        variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) -> AdminSettings {
        let surroundings = SettingsEnvironment(
            configurationDirectory: Self.directory(of: path),
            variables: variables,
            readSecret: { _ throws(FileError) in Secret([] as [UInt8]) },
            checkReadable: { _ throws(FileError) in }
        )
        let text = try Self.text(of: path, isOwn: isFound)
        return try SettingsReader(file: path, surroundings: surroundings).readAdmin(text)
    }

    private static func directory(of path: String) -> String {
        let absolute = SettingsEnvironment.path(path, under: FileManager.default.currentDirectoryPath)
        return WholeFile.directory(of: absolute)
    }

    private static func text(of path: String, isOwn: Bool = false) throws(SettingsError) -> String {
        let bytes: [UInt8]
        do throws(FileError) {
            // A pipe could be read only once, and a reload reads this file again.
            bytes = try OpenFile.contents(of: path, limit: 1 << 20, isOwn: isOwn)
        } catch {
            let help =
                error.code == .unreadable || error.code == .missing
                ? "; another file is named by --config or MARTLET_CONFIG" : ""
            let fault = SettingsFinding(file: path, position: nil, path: "", message: error.message + help)
            throw SettingsError(.unreadable, [fault])
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let position = Self.firstInvalid(in: bytes)
            let fault = SettingsFinding(
                file: path,
                position: position,
                path: "",
                message: "is not UTF-8 text here: save the file as UTF-8"
            )
            throw SettingsError(.invalid, [fault])
        }
        return text
    }

    /// The position of the first byte that is not valid UTF-8.
    private static func firstInvalid(in bytes: [UInt8]) -> SourcePosition {
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        var valid = MarkedText("")
        while case .scalarValue(let scalar) = decoder.decode(&rest) { valid.append(scalar) }
        return valid.position(of: valid.scalars.count)
    }
}
