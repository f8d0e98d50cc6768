internal import SystemSupport
internal import TokenModel

/// The keys of a provider's `tls`.
enum ProviderTLSKey: String, Vocabulary {
    case certificateAuthorities = "ca"
    case certificate, key
}

/// The keys of a route's `upstream_tls`.
enum UpstreamTLSKey: String, Vocabulary {
    case certificateAuthorities = "ca"
    case certificate, key
}

/// The keys of a listener's `tls`.
enum ListenerTLSKey: String, Vocabulary {
    case certificate, key
    case clientAuthorities = "client_ca"
}

/// The keys of the admin listener's `tls`.
enum AdminTLSKey: String, Vocabulary {
    case certificate, key
}

extension UpstreamTLSSettings {
    init(_ section: Section<UpstreamTLSKey>) {
        self.certificateAuthorities = section.read(.certificateAuthorities) { $0.certificates() }
        self.identity = CertificateSettings(optional: section[.certificate], section[.key])
    }
}

extension ListenerTLSSettings {
    /// `nil` if the certificate or its key is missing or wrong.
    init?(_ place: Place) {
        guard let section = Section<ListenerTLSKey>(place) else { return nil }
        let certificate = section.require(.certificate) { $0.certificates() }
        let key = section.require(.key) { $0.privateKey() }
        self.clientAuthorities = section.read(.clientAuthorities) { $0.certificates() }
        guard let identity = CertificateSettings(certificate, key, at: section[.key]) else { return nil }
        self.identity = identity
    }
}

extension CertificateSettings {
    /// Reads the admin listener's `tls`; `nil` if the certificate or its key is missing or wrong.
    init?(_ place: Place) {
        guard let section = Section<AdminTLSKey>(place) else { return nil }
        let certificate = section.require(.certificate) { $0.certificates() }
        let key = section.require(.key) { $0.privateKey() }
        self.init(certificate, key, at: section[.key])
    }

    /// `nil` if both are missing, or if one is missing or wrong, which is reported.
    init?(optional certificate: Place?, _ key: Place?) {
        let certificateFile = certificate.flatMap { $0.certificates() }
        let keyFile = key.flatMap { $0.privateKey() }
        switch (certificate, key) {
        case (let place?, nil): place.fault("needs its key: add key: PATH")
        case (nil, let place?): place.fault("is nothing without its certificate, add certificate: PATH")
        case (nil, nil), (_?, _?): break
        }
        self.init(certificateFile, keyFile, at: key)
    }

    /// `nil` if one is missing or wrong, which is already reported.
    ///
    /// - Parameter place: the place of the key.
    fileprivate init?(_ certificate: String?, _ key: String?, at place: Place?) {
        guard let certificate, let key else { return nil }
        self.init(certificate: certificate, key: key)
        if let place, let fault = place.reading.certificateFault(.pair(self)) { place.fault(fault) }
    }
}

extension Place {
    /// A PEM file of certificates. A relative path is based on the configuration's directory.
    func certificates() -> String? {
        guard let path = self.file(under: self.reading.surroundings.configurationDirectory) else { return nil }
        do throws(FileError) {
            try self.reading.surroundings.checkReadable(path)
        } catch {
            self.fault("\(path) \(error.message)")
            return nil
        }
        return self.usable(path, .certificates(path))
    }

    /// A PEM file with a private key. The file must have the permissions of a secret.
    fileprivate func privateKey() -> String? {
        guard let path = self.file(under: self.reading.surroundings.configurationDirectory) else { return nil }
        do throws(FileError) {
            _ = try self.secret(at: path)
        } catch {
            self.fault("\(path) \(error.message)")
            return nil
        }
        return self.usable(path, .key(path))
    }

    private func usable(_ path: String, _ question: CertificateQuestion) -> String? {
        guard let fault = self.reading.certificateFault(question) else { return path }
        self.fault(fault)
        return nil
    }
}
