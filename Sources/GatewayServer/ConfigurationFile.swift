internal import AdminAPI
internal import OAuth
internal import ProviderClient
internal import Proxy
package import Settings
internal import SystemSupport

/// Reads the configuration and checks the certificates and keys that it names.
package enum ConfigurationFile {
    /// As ``SettingsFile/load(path:variables:certificateFault:)``. Unusable certificates and keys are faults like any
    /// other.
    package static func load(_ path: String) throws(SettingsError) -> GatewaySettings {
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

    /// Why the key in a file can't sign; `nil` if it can.
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

    /// Everything in the settings that would make ``GatewayAssembly`` fail. The checks call the same initializers.
    package static func startErrors(of settings: GatewaySettings) -> [StartError] {
        var errors: [StartError] = []
        for provider in settings.providers {
            do throws(StartError) {
                _ = try ProviderClient.ProviderSettings(provider)
            } catch {
                errors.append(error)
            }
        }
        do throws(StartError) {
            _ = try ProxyConfiguration(
                settings,
                connections: settings.limits.connections,
                eventLoops: EventLoopCount.standard
            )
        } catch {
            errors.append(error)
        }
        do throws(StartError) {
            try Self.checkAdminTokens(settings)
        } catch {
            errors.append(error)
        }
        return errors
    }

    /// A missing directory or file is no fault: the first start creates it.
    private static func checkAdminTokens(_ settings: GatewaySettings) throws(StartError) {
        _ = try StateDirectory.exists(settings.stateDirectory)
        do throws(AdminTokenError) {
            try AdminTokenFile(path: settings.admin.tokenFile, stateDirectory: settings.stateDirectory).check()
        } catch {
            throw StartError(error)
        }
    }
}
