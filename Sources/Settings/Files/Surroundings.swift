internal import FoundationEssentials
internal import Glibc
package import LocalFiles
package import OAuth
package import TokenModel

/// What a configuration refers to beyond its own text: directories, environment variables, files.
package struct Surroundings: Sendable {
    /// What relative paths of files that are only read begin at; absolute.
    package let configurationDirectory: String
    /// The process's environment.
    package let variables: [String: String]
    /// Reads the file at an absolute path as ``SecretFile`` does.
    package let readSecret: @Sendable (_ path: String) throws(FileError) -> Secret
    /// What an operator should know of the file of a secret at an absolute path; `nil` where nothing is to be said.
    package let secretConcern: @Sendable (_ path: String) -> String?
    /// Throws if the file at an absolute path can't be opened for reading.
    package let checkReadable: @Sendable (_ path: String) throws(FileError) -> Void
    /// What keeps certificates or keys from being used, with the names of their files; `nil` where nothing does.
    package let certificateFault: @Sendable (CertificateQuestion) -> String?

    /// - Parameter certificateFault: of a program that uses certificates; by itself a configuration knows nothing of them.
    package init(
        configurationDirectory: String,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        readSecret: @escaping @Sendable (_ path: String) throws(FileError) -> Secret = SecretFile.read,
        secretConcern: @escaping @Sendable (_ path: String) -> String? = SecretFile.concern,
        checkReadable: @escaping @Sendable (_ path: String) throws(FileError) -> Void = Surroundings.checkReadable,
        certificateFault: @escaping @Sendable (CertificateQuestion) -> String? = { _ in nil }
    ) {
        self.configurationDirectory = configurationDirectory
        self.variables = variables
        self.readSecret = readSecret
        self.secretConcern = secretConcern
        self.checkReadable = checkReadable
        self.certificateFault = certificateFault
    }

    /// Asks the file system.
    package static func checkReadable(_ path: String) throws(FileError) {
        let ownership: FileOwnership
        do throws(SystemCallError) {
            ownership = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK).ownership()
        } catch {
            throw FileError(error)
        }
        guard ownership.isRegular else { throw FileError(.unreadable, "is not a regular file") }
    }

    /// `$XDG_STATE_HOME/martlet`, else `~/.local/state/martlet`; `nil` where the environment names neither.
    ///
    /// A relative `XDG_STATE_HOME` is passed over, as the XDG Base Directory Specification asks.
    var defaultStateDirectory: String? {
        if let state = self.variables["XDG_STATE_HOME"], state.hasPrefix("/") {
            return Self.path("martlet", under: state)
        }
        if let home = self.variables["HOME"], home.hasPrefix("/") {
            return Self.path(".local/state/martlet", under: home)
        }
        return nil
    }

    /// `path` as an absolute one: as it is, or under `directory`.
    static func path(_ path: String, under directory: String) -> String {
        if path.hasPrefix("/") { return path }
        let parent = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        return parent + "/" + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
    }
}

/// What a configuration asks of those who will use certificates: whether they could.
package enum CertificateQuestion: Hashable, Sendable {
    /// Whether a PEM file, at an absolute path, holds certificates.
    case certificates(String)
    /// Whether a PEM file holds a key.
    case key(String)
    /// Whether a PEM file holds a private key that can sign by an algorithm.
    case signingKey(String, SigningAlgorithm)
    /// Whether a certificate and its key, each of which will do by itself, are a pair.
    case pair(CertificateSettings)
}
