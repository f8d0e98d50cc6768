internal import Proxy
internal import Settings

/// The configuration as the program reads it: with all that it would do with what the file names.
enum ConfigurationFile {
    /// As ``SettingsFile/load(path:variables:certificateFault:)``, and certificates and keys that can't be used are faults
    /// like any other.
    static func load(_ path: String) throws(SettingsError) -> GatewaySettings {
        try SettingsFile.load(path: path) { question in
            do throws(ProxyError) {
                switch question {
                case .certificates(let path): try CertificateFiles.check(certificates: path)
                case .key(let path): try CertificateFiles.check(key: path)
                case .pair(let pair): try CertificateFiles(certificate: pair.certificate, key: pair.key).check()
                }
                return nil
            } catch {
                return error.message
            }
        }
    }
}
