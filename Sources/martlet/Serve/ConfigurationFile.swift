internal import LocalFiles
internal import OAuth
internal import ProviderClient
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
                case .signingKey(let path, let algorithm): return Self.fault(of: path, algorithm)
                case .pair(let pair): try CertificateFiles(certificate: pair.certificate, key: pair.key).check()
                }
                return nil
            } catch {
                return error.message
            }
        }
    }

    /// What keeps the key in a file from signing.
    private static func fault(of path: String, _ algorithm: SigningAlgorithm) -> String? {
        do throws(FileError) {
            let pem = try SecretFile.read(path)
            do throws(AssertionKeyError) {
                _ = try AssertionKey(pem: pem, algorithm: algorithm, keyID: nil)
                return nil
            } catch {
                return "\(path) \(error.message)"
            }
        } catch {
            return "\(path) \(error.message)"
        }
    }
}
