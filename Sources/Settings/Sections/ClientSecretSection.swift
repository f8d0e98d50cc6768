internal import SystemSupport
internal import TokenModel

/// The keys of `client_secret`, of which exactly one is allowed.
enum ClientSecretKey: String, Vocabulary {
    case file, env

    /// In `{ s3cr3t }` the secret itself is the key of a mapping.
    static let isSensitive = true
}

extension ClientSecret {
    /// More than are needed during a change, and few enough to be tried within one refresh.
    static let mostOfOneClient = 4

    /// Reads one secret or a list of secrets; `nil` if one is wrong.
    static func list(_ place: Place) -> [ClientSecret]? {
        guard case .list = place.content else { return ClientSecret(place).map { [$0] } }
        guard let items = place.items() else { return nil }
        guard (1...Self.mostOfOneClient).contains(items.count) else {
            place.fault("must name between 1 and \(Self.mostOfOneClient) secrets")
            return nil
        }
        let secrets = items.compactMap { ClientSecret($0) }
        return secrets.count == items.count ? secrets : nil
    }

    /// Reads the secret from the file or the variable.
    init?(_ place: Place) {
        switch place.content {
        case .text:
            // The text may be the secret itself, so the message doesn't repeat it.
            place.fault("a secret must not be written in this file; expected { file: PATH } or { env: NAME }")
            return nil
        case .nothing, .mapping, .list, .tagged: break
        }
        guard let section = Section<ClientSecretKey>(place) else { return nil }
        switch (section[.file], section[.env]) {
        case (let file?, nil): self.init(file: file)
        case (nil, let variable?): self.init(variable: variable)
        case (.some, .some):
            place.fault("has both file and env, expected one")
            return nil
        case (nil, nil):
            section.missing("file or env is missing")
            return nil
        }
    }

    private init?(file place: Place) {
        guard let path = place.file(under: place.reading.surroundings.configurationDirectory) else { return nil }
        do throws(FileError) {
            self.init(value: try place.secret(at: path), origin: .file(path))
        } catch {
            place.faultAtKey("\(path) \(error.message)")
            return nil
        }
    }

    private init?(variable place: Place) {
        guard let name = place.text("the name of a variable") else { return nil }
        guard let value = place.reading.surroundings.variables[name] else {
            // If there is no such variable, the name may be the secret itself, so the message doesn't repeat it.
            place.faultAtKey(
                "the environment has no such variable: set it where martlet starts, or write { file: PATH }"
            )
            return nil
        }
        guard !value.isEmpty else {
            place.faultAtKey("the environment's variable \(name) is empty")
            return nil
        }
        place.reading.note(secretVariable: name)
        self.init(value: Secret(value), origin: .variable(name))
    }
}
