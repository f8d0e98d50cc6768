package import TokenModel

/// Where a store's keys come from, when getting them takes time or a person.
package protocol SealingKeyOrigin: Sendable {
    /// The origin in messages, such as a path.
    var name: String { get }

    /// What somebody must give before there are keys.
    var need: KeyNeed { get }

    /// Gets the keys. Each call gets them again.
    ///
    /// - Parameter passphrase: what a person gave; an origin that needs none ignores it.
    func keys(passphrase: Secret?) async throws(KeyRingError) -> any KeyRingSource
}

/// What somebody must give before a store's keys are there.
package enum KeyNeed: String, Equatable, Sendable {
    case nothing
    case passphrase
}

/// What an operator gives to open a store.
package enum OfferedKey: Sendable {
    case passphrase(Secret)
    /// The text of a key file.
    case key(Secret)
}

extension SealingKeyOrigin {
    /// Gets the keys. Keys that an operator offers take the place of those of any origin.
    ///
    /// - Throws: ``KeyRingError/Code/passphraseNeeded`` if `offered` lacks what ``need`` names.
    package func keys(offered: OfferedKey?) async throws(KeyRingError) -> any KeyRingSource {
        switch offered {
        case .key(let text): try GivenKeyRing(KeyRingText(text, name: "the key that was given"))
        case .passphrase(let passphrase): try await self.keys(passphrase: passphrase)
        case nil: try await self.keys(passphrase: nil)
        }
    }

    /// Gets the keys again for a store that is open, and puts them in place of those that `source` holds. A file is
    /// followed anyway, and keys that a person gave stay.
    ///
    /// - Throws: why there are no new keys; then those in use stay.
    package func renew(_ source: any KeyRingSource) async throws(KeyRingError) {
        guard self.need == .nothing, let held = source as? HeldKeyRing,
            let ring = try await self.keys(passphrase: nil).existing()
        else { return }
        held.replace(ring)
    }
}

/// Keys that are at hand: in a file, or in this process.
package struct FixedKeyOrigin: SealingKeyOrigin {
    private let source: any KeyRingSource

    package init(_ source: any KeyRingSource) { self.source = source }

    package var name: String { self.source.name }
    package var need: KeyNeed { .nothing }

    package func keys(passphrase: Secret?) async throws(KeyRingError) -> any KeyRingSource { self.source }
}

/// Keys as text that this process was given, such as in an environment variable.
package struct TextKeyOrigin: SealingKeyOrigin {
    private let text: KeyRingText

    package init(_ text: KeyRingText) { self.text = text }

    package var name: String { self.text.name }
    package var need: KeyNeed { .nothing }

    package func keys(passphrase: Secret?) async throws(KeyRingError) -> any KeyRingSource {
        try GivenKeyRing(self.text)
    }
}

/// A credential that systemd hands to a service: a file of keys that is there as long as the service runs, and that may
/// be bound to the machine's TPM (systemd.exec(5), systemd-creds(1)).
package struct CredentialKeyOrigin: SealingKeyOrigin {
    private let credential: String
    private let directory: String?

    /// The environment variable that names the directory of a service's credentials.
    package static let directoryVariable = "CREDENTIALS_DIRECTORY"

    /// - Parameter directory: the value of ``directoryVariable``; `nil` if the process has no such variable.
    package init(_ credential: String, in directory: String?) {
        self.credential = credential
        self.directory = directory
    }

    package var name: String { "the credential \(self.credential)" }
    package var need: KeyNeed { .nothing }

    package func keys(passphrase: Secret?) async throws(KeyRingError) -> any KeyRingSource {
        let advice =
            "LoadCredential=\(self.credential):PATH in the service's unit hands a file to it, SetCredentialEncrypted= or "
            + "LoadCredentialEncrypted= one that systemd-creds has encrypted"
        guard let directory = self.directory, directory.hasPrefix("/") else {
            throw KeyRingError(
                .missing,
                "there is no credential \(self.credential): \(Self.directoryVariable) is not set, so systemd has handed this process none; "
                    + advice
            )
        }
        // systemd gives it to the service's user, or lets that user read root's.
        let file = KeyRingFile(path: "\(directory)/\(self.credential)", isMadeWhenMissing: false)
        guard try file.existing() != nil else {
            throw KeyRingError(.missing, "there is no credential \(self.credential) in \(directory): \(advice)")
        }
        return file
    }
}
