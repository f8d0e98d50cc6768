internal import ArgumentParser
internal import FoundationEssentials
internal import GatewayServer
internal import Settings
internal import SystemSupport
internal import TokenModel
internal import TokenStorage

/// `martlet store passphrase`.
struct PassphraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase",
        abstract: "Make or change the passphrase that opens the store's keys.",
        discussion: """
            With sealing_key: { passphrase: true } the store's keys are in sealing.envelope in state_dir, sealed under a
            passphrase. This changes the passphrase; the keys stay. No gateway needs to be stopped: the next unlock needs the new
            passphrase. Copies of the envelope that were made before open with the old one.

            Where there is no envelope, it is made, with a new key, unless the store is sealed already. Replicas on several hosts
            share a store and its keys: make the envelope on one host, and copy it to state_dir on the others. On one host the
            first martlet unlock makes it.

            To go over from a key file, stop the gateways, put the keys in an envelope with --from-key-file, and change the
            configuration. The keys must open the store, so it must be reachable. An envelope that was there before is kept as
            sealing.envelope.old. --to-key-file is the way back, and writes a copy that needs no passphrase.

            Example:
              martlet store passphrase --config martlet.yaml
              martlet store passphrase --from-key-file state/sealing.key
              martlet store passphrase --to-key-file sealing.key
            """
    )

    @OptionGroup var source: StoreOptions
    @Option(help: ArgumentHelp("The new passphrase (default: ask).", valueName: "file"))
    var newPassphraseFile: String?
    @Option(help: ArgumentHelp("Put the keys of this file in the envelope.", valueName: "file"))
    var fromKeyFile: String?
    @Option(help: ArgumentHelp("Write the keys to this new file, and change nothing.", valueName: "file"))
    var toKeyFile: String?

    func validate() throws {
        guard self.toKeyFile == nil || (self.fromKeyFile == nil && self.newPassphraseFile == nil) else {
            throw ValidationError("--to-key-file changes nothing; it goes with neither of the other two")
        }
    }

    func run() async throws {
        let settings = try OfflineStore.settings(self.source.path)
        let envelope = settings.passphraseOrigin(isMadeWhenMissing: false)
        do {
            if let path = self.toKeyFile {
                try await envelope.export(try self.present(envelope), to: path)
                Console.say("the keys are in \(path), which needs no passphrase: keep it apart from the store")
            } else if try await envelope.exists {
                let keys = try self.keys()
                // The keys that go may be the only ones that open the store.
                if let keys { try await Self.expect(keys, open: settings) }
                let (present, new) = (try self.present(envelope), try self.new(envelope))
                try await envelope.change(present, to: new, keys: keys?.text)
                Console.say(
                    "\(envelope.name) opens with the new passphrase: keep a copy, and copy it to the other replicas"
                )
                if keys != nil {
                    Console.say(
                        "the envelope before it is kept, and opens with its own passphrase: \(envelope.formerName)"
                    )
                }
            } else {
                try self.expectNew(settings.store.sealingKey)
                let keys = try self.keys()
                try await self.expectFit(keys, for: settings, envelope)
                try await envelope.change(nil, to: try self.new(envelope), keys: keys?.text)
                Console.say("\(envelope.name) is made: keep a copy, since without it nothing in the store opens")
            }
        } catch let error as KeyRingError {
            guard error.code != .passphraseUnfit else { throw CommandFailure(.usage, error.message) }
            throw CommandFailure(StartError(error))
        }
    }

    private func present(_ envelope: PassphraseKeyOrigin) throws(CommandFailure) -> Secret {
        try PassphraseQuestion.present(envelope.name, file: self.source.passphraseFile)
    }

    private func new(_ envelope: PassphraseKeyOrigin) throws(CommandFailure) -> Secret {
        try PassphraseQuestion.new(envelope.name, file: self.newPassphraseFile, option: "--new-passphrase-file")
    }

    private func keys() throws(CommandFailure) -> KeyRingText? {
        guard let path = self.fromKeyFile else { return nil }
        // As it is: a comment or an empty line in it stays.
        do throws(FileError) { return KeyRingText(Secret(try SecretFile.contents(of: path)), name: path) } catch {
            throw CommandFailure(.usage, "\(path) \(error.message)")
        }
    }

    private static func expect(_ keys: KeyRingText, open settings: GatewaySettings) async throws {
        try await OfflineStore.expect(try GivenKeyRing(keys), open: settings)
    }

    /// Expects keys that open the store, where it is sealed already.
    private func expectFit(
        _ keys: KeyRingText?,
        for settings: GatewaySettings,
        _ envelope: PassphraseKeyOrigin
    ) async throws {
        do throws(StartError) {
            guard try await DriverStore.isSealed(settings) else { return }
        } catch {
            throw CommandFailure(error)
        }
        guard let keys else {
            throw CommandFailure(
                .badConfiguration,
                "the store is sealed already, and a new key would not open it: put \(envelope.name) back from its copy, or name a "
                    + "file with the store's keys with --from-key-file"
            )
        }
        try await Self.expect(keys, open: settings)
    }

    /// A new key opens no store that is there.
    private func expectNew(_ key: SealingKeySettings?) throws(CommandFailure) {
        guard self.fromKeyFile == nil, key != .passphrase else { return }
        throw CommandFailure(
            .usage,
            "the configuration has no sealing_key: { passphrase: true }; name the keys of the store with --from-key-file, so that "
                + "the envelope opens it"
        )
    }
}
