internal import LocalFiles

/// The keys of `admin`.
enum AdminKey: String, Vocabulary {
    case address, socket, tls
    case tokenFile = "token_file"
    case allowCleartext = "allow_cleartext"
}

extension AdminSettings {
    init(_ section: Section<AdminKey>, state: String, besides listeners: [ListenerSettings]) {
        let address = section.read(.address) { place in
            section.has(.tls) || section.allows(.allowCleartext)
                ? place.listenerAddress() : place.loopbackAddress(or: "another needs tls, or allow_cleartext: true")
        }
        self.address = address ?? ListenerAddress(loopbackPort: 8081)
        self.tls = section.read(.tls) { CertificateSettings($0) }
        self.tokenFile =
            section.read(.tokenFile) { $0.file(under: state) } ?? Surroundings.path("admin.token", under: state)
        self.socket = section.read(.socket) { $0.file(under: state) } ?? Surroundings.path("admin.sock", under: state)

        // Another user's below it is refused.
        if SecretFile.isOutside(self.tokenFile, of: state) { section[.tokenFile]?.warnOfOwner(self.tokenFile) }

        guard let owner = self.address.owner(among: listeners) else { return }
        if let place = section[.address] {
            if address != nil { place.fault("is the address of \(owner) too") }
        } else {
            section.missing("admin.address is missing, and its default \(self.address) is the address of \(owner)")
        }
    }
}
