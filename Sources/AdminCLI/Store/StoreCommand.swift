internal import ArgumentParser
internal import FoundationEssentials
internal import TextCoding
internal import TokenStorage

/// `martlet store`.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Look after the store of tokens: prove that it opens, change its sealing key or passphrase, copy it.",
        discussion: """
            Works on the store that the configuration names, whether gateways run on it or not. Only copy needs them stopped.

            Example:
              martlet store verify
              martlet store rekey
              martlet store copy --to new.yaml
            """,
        subcommands: [
            VerifyStoreCommand.self, RekeyStoreCommand.self, PassphraseCommand.self, CopyStoreCommand.self,
        ]
    )
}

/// The options that name a store and how to open it.
struct StoreOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions
    @Option(
        help: ArgumentHelp("The passphrase of the store's keys, if they need one (default: ask).", valueName: "file")
    )
    var passphraseFile: String?

    /// The path of the configuration.
    var path: String { self.configuration.path(in: ProcessInfo.processInfo.environment) }
}

/// `martlet store verify`.
struct VerifyStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Prove that all records of the store open.",
        discussion: """
            Opens each record as the gateway would, and changes nothing. Those that don't open are listed, and the exit
            code is 1; they are kept, since a key or a backup may bring them back. So are new tokens in the journals of
            state_dir, which a gateway keeps there while the store does not take them. Gateways may run meanwhile.

            Example:
              martlet store verify --config martlet.yaml
              martlet store verify --json | jq '.unreadable[].record'
            """
    )

    @OptionGroup var source: StoreOptions
    @Flag(name: .customLong("json"), help: "Print JSON.") var isJSON = false

    func run() async throws {
        let path = self.source.path
        // A mirror is read too, to prove that it could be started from.
        try await withOfflineStore(configuration: path, passphraseFile: self.source.passphraseFile, mirror: .readOnly) {
            store in
            var progress = ProgressLines("checked")
            let survey = try await store.opened.survey { progress.reached($0.records) }
            let journals = store.opened.surveyJournals(in: store.stateDirectory)
            try self.report(survey, journals, of: store)
            try await store.expectWhole()
            guard survey.unreadable.isEmpty else {
                throw CommandFailure(
                    .no,
                    "\(survey.unreadable.count) of \(survey.records) records of \(store.path) do not open; they are kept"
                )
            }
            guard journals.unreadable.isEmpty else {
                throw CommandFailure(
                    .no,
                    "the journals of \(store.stateDirectory) can't all be read; they are kept, and may hold new tokens that "
                        + "their accounts need"
                        + (journals.locked > 0 ? ": put the missing key back on a line of \(store.keys.name)" : "")
                )
            }
        }
    }

    private func report(_ survey: StoreSurvey, _ journals: JournalSurvey, of store: OfflineStore) throws {
        let first = try store.keys.existing()?.current.id
        let uses = KeyUse.all(store.opened.keyRing, first: first, survey, journals)
        guard !self.isJSON else {
            return try Console.sayJSON(
                VerifyReport(
                    store: store.path,
                    records: survey.records,
                    opened: survey.opened,
                    keys: uses,
                    unreadable: survey.unreadable.map(FoundRecord.init),
                    journals: JournalReport(journals)
                )
            )
        }
        Console.say("\(survey.opened) of \(survey.records) records open")
        if journals.entries > 0 {
            Console.say(
                "\(journals.opened) of \(journals.entries) entries of journals open: new tokens the store did not take"
            )
        }
        for use in uses {
            let entries = use.entries > 0 ? ", and \(use.entries) entries of journals" : ""
            let line = "key \(use.id) (\(use.role)) seals \(use.records) of \(survey.records) records\(entries)"
            Console.say(line + (use.advice.map { "; \($0)" } ?? ""))
        }
        for finding in survey.unreadable + journals.unreadable {
            Console.say(PlainText.line("\(finding.record): \(finding.reason)"))
        }
    }
}
