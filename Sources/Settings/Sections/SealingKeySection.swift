internal import SystemSupport

extension Section<StoreKey> {
    /// The key that the section names. A file of one host has a default, which the first start makes; no replica makes the
    /// key of a store that several hosts share.
    func ownSealingKey(_ driver: StoreDriver, state: String) -> SealingKeySettings? {
        let isNamed = self.has(.sealingKey) || self.has(.sealingKeyFile)
        let key = self.sealingKey(state: state)
        guard driver != .sqlite else {
            return isNamed ? key : .file(SettingsEnvironment.path("sealing.key", under: state))
        }
        if !isNamed {
            self.missing(
                "sealing_key is missing: replicas share this store, so make one key and give it to all of them"
            )
        }
        if case .file(let path) = key { (self[.sealingKey] ?? self[.sealingKeyFile])?.checkShared(key: path) }
        return key
    }

    /// Where the sealing keys come from; `nil` if the file does not say, or says it wrong.
    private func sealingKey(state: String) -> SealingKeySettings? {
        guard !self.has(.sealingKey) || !self.has(.sealingKeyFile) else {
            self[.sealingKeyFile]?.faultAtKey("is the same as sealing_key.file; write one of them")
            return nil
        }
        let source: SealingKeySettings? =
            self.has(.sealingKey)
            ? self.read(.sealingKey) { SealingKeySettings($0, state: state) }
            : self.read(.sealingKeyFile) { $0.file(under: state).map { .file($0) } }
        // Inside state_dir, a file of another user is refused later. Elsewhere it is only a warning.
        if case .file(let path) = source, SecretFile.isOutside(path, of: state) {
            (self[.sealingKey] ?? self[.sealingKeyFile])?.warnOfOwner(path)
        }
        return source
    }
}

extension Place {
    /// Reports a file of keys that is missing. No replica makes the keys of a store that several hosts share.
    fileprivate func checkShared(key path: String) {
        do throws(FileError) {
            try self.reading.surroundings.checkReadable(path)
        } catch {
            self.fault(
                "\(path) \(error.message); copy the key from another replica, or make one for a new store: "
                    + "openssl rand -base64 32"
            )
        }
    }
}

/// The forms of `sealing_key`, of which exactly one is allowed.
enum SealingKeyForm: String, Vocabulary {
    case file, env, command, credential, passphrase

    /// In `{ c2VjcmV0 }` the key itself is the key of a mapping.
    static let isSensitive = true
}

extension SealingKeySettings {
    fileprivate init?(_ place: Place, state: String) {
        if case .text = place.content {
            // The text may be the key itself, so the message doesn't repeat it.
            place.fault("a key must not be written in this file; expected { file: PATH } or { env: NAME }")
            return nil
        }
        guard let section = Section<SealingKeyForm>(place) else { return nil }
        let forms = SealingKeyForm.allCases.filter { section[$0] != nil }
        guard let form = forms.first else {
            section.missing("file or env is missing, or another form of a sealing key")
            return nil
        }
        guard forms.count == 1 else {
            place.fault("has \(forms.map(\.rawValue).joined(separator: " and ")), expected one of them")
            return nil
        }
        let read: SealingKeySettings? =
            switch form {
            // The keys may be missing until the first start, and are read again while the gateway runs.
            case .file: section.read(form) { $0.file(under: state) }.map { .file($0) }
            case .env: ClientSecret(place).map { .given($0) }
            case .command: section.read(form) { $0.command() }.map { .command($0) }
            case .credential: section.read(form) { $0.credentialName() }.map { .credential($0) }
            case .passphrase: section.read(form) { $0.isYes() ? .passphrase : nil }
            }
        guard let read else { return nil }
        self = read
    }
}

extension Place {
    /// A program and its arguments.
    fileprivate func command() -> [String]? {
        guard case .list = self.content else {
            self.expected(
                "a list of a program and its arguments, such as [pass, show, martlet], since no shell reads it"
            )
            return nil
        }
        guard let items = self.items(), let program = items.first else {
            self.fault("is empty, expected a program and its arguments")
            return nil
        }
        let arguments = items.dropFirst().map { $0.text(allowingEmpty: true) }
        guard let name = program.text("a program"), !arguments.contains(nil) else { return nil }
        // A name without a slash is looked for in PATH.
        let directory = self.reading.surroundings.configurationDirectory
        let path = name.contains("/") ? SettingsEnvironment.path(name, under: directory) : name
        return [path] + arguments.compactMap { $0 }
    }

    /// The name of a file in the directory of a service's credentials.
    fileprivate func credentialName() -> String? {
        self.parsed("the name of a credential") { text throws(ValueError) in
            guard !text.contains("/"), text != ".", text != ".." else {
                throw ValueError("must be the name of a credential in the service's unit, not a path")
            }
            return text
        }
    }

    /// Whether the value is `true`, the only one of something that is left out otherwise.
    fileprivate func isYes() -> Bool {
        guard let flag = self.flag() else { return false }
        if !flag { self.fault("must be true; to have no passphrase, name another form of sealing_key") }
        return flag
    }
}

/// Where a store's sealing keys come from.
package enum SealingKeySettings: Equatable, Sendable {
    /// The absolute path of a file. It is read again when it changes.
    case file(String)
    /// A value that stays the same as long as the process runs.
    case given(ClientSecret)
    /// A program and its arguments. It prints the key.
    case command([String])
    /// The name of a credential that systemd hands to the service.
    case credential(String)
    /// An envelope in `state_dir`, which a person opens. The gateway starts locked.
    case passphrase

    /// What `martlet check` prints. A command's arguments are nobody else's business.
    var summary: String {
        switch self {
        case .file(let path): "sealed with the key in \(path)"
        case .given(let secret): "sealed with the key in \(secret.origin)"
        case .command(let words): "sealed with the key that the command \(words.first ?? "") prints"
        case .credential(let name): "sealed with the key in the credential \(name)"
        case .passphrase: "sealed with a key that a passphrase opens, so the gateway starts locked"
        }
    }
}

extension GatewaySettings {
    /// The variables that a program which prints the key gets: none that holds a secret of the gateway, and none by
    /// which systemd would take the program for the service.
    package func variablesOfCommand(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            !self.secretVariables.contains(name) && !["MARTLET_ADMIN_TOKEN", "NOTIFY_SOCKET"].contains(name)
                && !name.hasPrefix("LISTEN_")
        }
    }
}
