/// The keys of `admin`.
enum AdminKey: String, Vocabulary {
    case address
    case tokenFile = "token_file"
    case allowCleartext = "allow_cleartext"

    static let later = ["tls"]
}

extension AdminSettings {
    init(_ section: Section<AdminKey>, state: String, besides listeners: [ListenerSettings]) {
        let address = section.read(.address) { place in
            section.allows(.allowCleartext)
                ? place.listenerAddress() : place.loopbackAddress(or: "another needs allow_cleartext: true")
        }
        self.address = address ?? ListenerAddress(loopbackPort: 8081)
        self.tokenFile =
            section.read(.tokenFile) { $0.file(under: state) } ?? Surroundings.path("admin.token", under: state)

        guard let owner = self.address.owner(among: listeners) else { return }
        if let place = section[.address] {
            if address != nil { place.fault("is the address of \(owner) too") }
        } else {
            section.missing("admin.address is missing, and its default \(self.address) is the address of \(owner)")
        }
    }
}
