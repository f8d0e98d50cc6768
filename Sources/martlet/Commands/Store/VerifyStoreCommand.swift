internal import ArgumentParser
internal import FoundationEssentials
internal import TokenStorage

/// `martlet store verify`.
struct VerifyStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Prove that all records of the store open.",
        discussion: """
            Opens each record as the gateway would, and changes nothing. Those that don't open are listed, and the exit
            code is 1; they are kept, since a key or a backup may bring them back. Gateways may run meanwhile.

            Example:
              martlet store verify --config martlet.yaml
              martlet store verify --json | jq '.unreadable[].record'
            """
    )

    @OptionGroup var configuration: ConfigurationOptions
    @Flag(name: .customLong("json"), help: "Print JSON.") var isJSON = false

    func run() async throws {
        let path = self.configuration.path(in: ProcessInfo.processInfo.environment)
        try await withStoreAtHand(configuration: path) { store in
            var progress = ProgressLines("checked")
            let survey = try await store.opened.survey { progress.reached($0.records) }
            try self.report(survey, of: store)
            guard survey.unreadable.isEmpty else {
                throw CommandFailure(
                    .no,
                    "\(survey.unreadable.count) of \(survey.records) records of \(store.path) do not open; they are kept"
                )
            }
        }
    }

    private func report(_ survey: StoreSurvey, of store: StoreAtHand) throws {
        let uses = KeyUse.all(store.opened.keyRing, survey)
        guard !self.isJSON else {
            return try Console.sayJSON(
                VerifyReport(
                    store: store.path,
                    records: survey.records,
                    opened: survey.opened,
                    keys: uses,
                    unreadable: survey.unreadable.map(FoundRecord.init)
                )
            )
        }
        Console.say("\(survey.opened) of \(survey.records) records open")
        for use in uses { Console.say("key \(use.id) (\(use.role)) seals \(use.records)") }
        for finding in survey.unreadable { Console.say(PlainText.line("\(finding.record): \(finding.reason)")) }
    }
}
