internal import LocalFiles
internal import TokenModel

/// The keys of a provider's `tls`.
enum ProviderTLSKey: String, Vocabulary {
    case certificateAuthorities = "ca"

    static let later = ["certificate", "key"]
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

extension UpstreamTLSSettings {
    init(_ section: Section<UpstreamTLSKey>) {
        self.certificateAuthorities = section.read(.certificateAuthorities) { $0.readableFile() }
        let certificate = section.read(.certificate) { $0.readableFile() }
        let key = section.read(.key) { $0.secretFile() }
        switch (section[.certificate], section[.key]) {
        case (let place?, nil): place.fault("needs its key too")
        case (nil, let place?): place.fault("needs its certificate too")
        case (nil, nil), (_?, _?): break
        }
        if let certificate, let key {
            self.identity = CertificateSettings(certificate: certificate, key: key)
        } else {
            self.identity = nil
        }
    }
}

extension ListenerTLSSettings {
    /// `nil` without a certificate and its key.
    init?(_ place: Place) {
        guard let section = Section<ListenerTLSKey>(place) else { return nil }
        let certificate = section.require(.certificate) { $0.readableFile() }
        let key = section.require(.key) { $0.secretFile() }
        self.clientAuthorities = section.read(.clientAuthorities) { $0.readableFile() }
        guard let certificate, let key else { return nil }
        self.identity = CertificateSettings(certificate: certificate, key: key)
    }
}

extension Place {
    /// A file beside the configuration that is there and can be opened.
    func readableFile() -> String? {
        guard let path = self.file(under: self.reading.surroundings.configurationDirectory) else { return nil }
        do throws(FileError) {
            try self.reading.surroundings.checkReadable(path)
        } catch {
            self.fault("\(path) \(error.message)")
        }
        return path
    }

    /// As ``readableFile()``, one that is kept as a secret must be.
    fileprivate func secretFile() -> String? {
        guard let path = self.file(under: self.reading.surroundings.configurationDirectory) else { return nil }
        do throws(FileError) {
            _ = try self.reading.surroundings.readSecret(path)
        } catch {
            self.fault("\(path) \(error.message)")
        }
        return path
    }
}
