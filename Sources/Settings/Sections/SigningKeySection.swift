internal import OAuth
internal import SystemSupport
internal import TokenModel

/// The keys of a provider's `private_key`.
enum ClientKeyKey: String, Vocabulary {
    case file, algorithm, audience
    case keyID = "key_id"
}

/// The keys of a `private_key`'s `audience` if that is a mapping.
enum AudienceKey: String, Vocabulary {
    case token, revocation
}

/// The keys of an assertion's `private_key`.
enum AssertionKeyKey: String, Vocabulary {
    case file, algorithm
    case keyID = "key_id"
}

extension SigningAlgorithm: Vocabulary {}

extension SigningKeySettings {
    /// Reads a provider's `private_key`, including its optional audiences.
    static func client(_ place: Place) -> (key: SigningKeySettings, audience: AssertionAudience)? {
        guard let section = Section<ClientKeyKey>(place) else { return nil }
        let audience = section.read(.audience) { AssertionAudience($0) } ?? AssertionAudience()
        let algorithm = section.require(.algorithm) { $0.choice(SigningAlgorithm.self) }
        let keyID = section.read(.keyID) { $0.text() }
        let file = section.require(.file) { $0.signingKey(algorithm) }
        return SigningKeySettings(file, algorithm, keyID).map { ($0, audience) }
    }

    /// Reads an assertion's `private_key`.
    init?(_ place: Place) {
        guard let section = Section<AssertionKeyKey>(place) else { return nil }
        let algorithm = section.require(.algorithm) { $0.choice(SigningAlgorithm.self) }
        let keyID = section.read(.keyID) { $0.text() }
        let file = section.require(.file) { $0.signingKey(algorithm) }
        self.init(file, algorithm, keyID)
    }

    private init?(_ file: (path: String, pem: Secret)?, _ algorithm: SigningAlgorithm?, _ keyID: String?) {
        guard let file, let algorithm else { return nil }
        self.init(file: file.path, pem: file.pem, algorithm: algorithm, keyID: keyID)
    }
}

extension AssertionAudience {
    /// One audience for both endpoints, or a mapping with one for each.
    fileprivate init?(_ place: Place) {
        guard place.isMapping else {
            guard let audience = place.text() else { return nil }
            self.init(token: audience, revocation: nil)
            return
        }
        guard let section = Section<AudienceKey>(place) else { return nil }
        self.init(token: section.read(.token) { $0.text() }, revocation: section.read(.revocation) { $0.text() })
    }
}

extension Place {
    /// A PEM file with a key for `algorithm`. A relative path is based on the configuration's directory. The file must
    /// have the permissions of a secret.
    fileprivate func signingKey(_ algorithm: SigningAlgorithm?) -> (path: String, pem: Secret)? {
        guard let path = self.file(under: self.reading.surroundings.configurationDirectory) else { return nil }
        let pem: Secret
        do throws(FileError) {
            pem = try self.secret(at: path)
        } catch {
            self.fault("\(path) \(error.message)")
            return nil
        }
        guard let algorithm else { return nil }
        if let fault = self.reading.certificateFault(.signingKey(path, algorithm)) {
            self.fault(fault)
            return nil
        }
        return (path, pem)
    }
}
