internal import FoundationEssentials
internal import Glibc
package import OAuth
package import SystemSupport
package import TokenModel

/// Access to what a configuration refers to: directories, environment variables, files.
package struct SettingsEnvironment: Sendable {
    /// The base of relative paths to files that are only read; absolute.
    package let configurationDirectory: String
    /// The process's environment.
    package let variables: [String: String]
    /// Reads the secret in the file at an absolute path, as ``SecretFile`` does.
    package let readSecret: @Sendable (_ path: String) throws(FileError) -> Secret
    /// A warning about the secret file at an absolute path; `nil` if there is none.
    package let secretConcern: @Sendable (_ path: String) -> String?
    /// Throws if the file at an absolute path can't be opened for reading.
    package let checkReadable: @Sendable (_ path: String) throws(FileError) -> Void
    /// Why certificates or keys can't be used, with the names of their files; `nil` if they can.
    package let certificateFault: @Sendable (CertificateQuestion) -> String?

    /// - Parameter certificateFault: supplied by a program that uses certificates, because this module can't check
    ///   them.
    package init(
        configurationDirectory: String,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        readSecret: @escaping @Sendable (_ path: String) throws(FileError) -> Secret = SecretFile.read,
        secretConcern: @escaping @Sendable (_ path: String) -> String? = SecretFile.concern,
        checkReadable: @escaping @Sendable (_ path: String) throws(FileError) -> Void = SettingsEnvironment
            .checkReadable,
        certificateFault: @escaping @Sendable (CertificateQuestion) -> String? = { _ in nil }
    ) {
        self.configurationDirectory = configurationDirectory
        self.variables = variables
        self.readSecret = readSecret
        self.secretConcern = secretConcern
        self.checkReadable = checkReadable
        self.certificateFault = certificateFault
    }

    /// Opens the file and checks that it is a regular file.
    package static func checkReadable(_ path: String) throws(FileError) {
        let ownership: FileOwnership
        do throws(SystemCallError) {
            ownership = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK).ownership()
        } catch {
            throw FileError(error)
        }
        guard ownership.isRegular else { throw FileError(.unreadable, "is not a regular file") }
    }

    /// `$XDG_STATE_HOME/martlet`, else `~/.local/state/martlet`; `nil` if neither variable is set.
    ///
    /// A relative `XDG_STATE_HOME` is ignored, as the XDG Base Directory Specification requires.
    var defaultStateDirectory: String? {
        if let state = self.variables["XDG_STATE_HOME"], state.hasPrefix("/") {
            return Self.path("martlet", under: state)
        }
        if let home = self.variables["HOME"], home.hasPrefix("/") {
            return Self.path(".local/state/martlet", under: home)
        }
        return nil
    }

    /// `path` if it is absolute, otherwise `path` under `directory`.
    static func path(_ path: String, under directory: String) -> String {
        if path.hasPrefix("/") { return path }
        let parent = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        return parent + "/" + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
    }
}

/// A question to the program that will use certificates: whether it can.
package enum CertificateQuestion: Hashable, Sendable {
    /// Whether a PEM file, at an absolute path, holds certificates.
    case certificates(String)
    /// Whether a PEM file holds a key.
    case key(String)
    /// Whether a PEM file holds a private key that can sign by an algorithm.
    case signingKey(String, SigningAlgorithm)
    /// Whether a certificate and a key, each of which is usable by itself, belong together.
    case pair(CertificateSettings)
}
