internal import ArgumentParser
internal import Audit
internal import FoundationEssentials
internal import GatewayServer
internal import Settings
internal import TextCoding
internal import TokenModel
package import TokenStorage

/// `martlet store copy`.
struct CopyStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy the store to another one, of any driver.",
        discussion: """
            Copies all records of the store that the configuration names into the store that another configuration names,
            which is made if it is missing. Then it reads both again: each record must be equal, and open with the keys of
            the new store. A run that was cut short is continued by the next one, which copies only what is missing.

            Records are copied as they are, sealed. So the new configuration needs the keys of the old one: name the same
            key file, copy it, or put its lines behind the first line of the new one and run martlet store rekey afterwards.

            Stop the gateways first. While one is listed that is not known to have ended, nothing is copied. One that was
            killed on another host stays listed: --forget-silent expels such replicas and waits until their lease has run out,
            which a running one notices. To move while gateways run, use driver: migrating.

            Start the gateways with the new configuration afterwards, and never again with the old one: with a provider that
            rotates refresh tokens, those in the old store are dead after the first refresh.

            The exit code is 1 if a record was changed meanwhile or does not open with the new store's keys. A record that did
            not open before is copied as it is, and listed.

            Example:
              martlet store copy --config martlet.yaml --to new.yaml
              martlet store verify --config new.yaml
              martlet serve --config new.yaml
            """
    )

    @OptionGroup var source: StoreOptions
    @Option(help: ArgumentHelp("The configuration that names the new store.", valueName: "file")) var to: String
    @Option(
        help: ArgumentHelp("The passphrase of the new store's keys, if they need one.", valueName: "file")
    )
    var toPassphraseFile: String?
    @Flag(help: "Take silent replicas out of the old store's list, after their lease has run out.")
    var forgetSilent = false
    @Flag(name: .customLong("json"), help: "Print JSON.") var isJSON = false

    func run() async throws {
        let path = self.source.path
        try await withOfflineStore(configuration: path, passphraseFile: self.source.passphraseFile) { source in
            try await self.expectStopped(source)
            let target = try await CopyTarget(configuration: self.to, passphraseFile: self.toPassphraseFile)
            do {
                try await self.copy(source, to: target)
            } catch let error as StoreError {
                await target.close()
                throw CommandFailure(
                    error.code == .unreachable ? .unavailable : .badConfiguration,
                    "copying store \(source.path) to \(target.name): \(error.message)"
                )
            } catch {
                await target.close()
                throw error
            }
            await target.close()
        }
    }

    private func copy(_ source: OfflineStore, to target: CopyTarget) async throws {
        // Stores that are or were part of a move have a part of the records, or none that counts.
        do throws(StoreError) { _ = try await source.opened.wholePlace() } catch {
            throw CommandFailure(error, store: source.path)
        }
        do throws(StoreError) { _ = try await target.opened()?.wholePlace() } catch {
            throw CommandFailure(error, store: target.name)
        }
        let running = try await target.replicas()
        guard running.isEmpty else {
            throw CommandFailure(
                .no,
                "replicas are listed in the new store \(target.name): \(running.joined(separator: ", ")); copying would undo what "
                    + "they write, so stop them first"
            )
        }
        let copying = StoreCopying(from: source.opened, to: target.store, keys: target.keys)
        // The copy has the first record.
        let outcome = try await source.audited(.copyStore, detail: "to \(target.name)") {
            var copied = ProgressLines("copied")
            var verified = ProgressLines("verified")
            return try await copying.run { step, records in
                switch step {
                case .copying: copied.reached(records)
                case .verifying: verified.reached(records)
                }
            }
        } ended: { outcome in
            (outcome.isComplete ? "done" : "incomplete", CopyText.line(outcome))
        }
        let journals = source.opened.surveyJournals(in: source.stateDirectory)
        try self.report(outcome, journals, source, target)
        // A gateway that was started during the copy.
        try await self.expectStopped(source)
        try self.complain(outcome, source, target)
    }

    private func expectStopped(_ source: OfflineStore) async throws {
        let replicas = ListedReplicas(source.opened, stateDirectory: source.stateDirectory)
        let running = self.forgetSilent ? try await replicas.forgetSilent() : try await replicas.names()
        guard running.isEmpty else {
            throw CommandFailure(
                .no,
                "replicas are listed in the store \(source.path) that are not known to have ended: "
                    + "\(running.joined(separator: ", ")); stop them, or move with driver: migrating while they run; "
                    + (self.forgetSilent
                        ? "these have shown that they run, or their record does not open"
                        : "if they were killed on another host, run this with --forget-silent")
            )
        }
    }

    private func report(
        _ outcome: StoreCopying.Outcome,
        _ journals: JournalSurvey,
        _ source: OfflineStore,
        _ target: CopyTarget
    ) throws {
        guard !self.isJSON else {
            return try Console.sayJSON(
                CopyReport(outcome, from: source.path, to: target.name, journalled: journals.entries)
            )
        }
        Console.say(CopyText.line(outcome))
        for finding in outcome.locked + outcome.unreadable {
            Console.say(PlainText.line("\(finding.record): \(finding.reason)"))
        }
        for key in outcome.changed { Console.say(PlainText.line("\(key): was changed during the copy")) }
        guard outcome.isComplete else { return }
        if journals.entries > 0, target.stateDirectory != source.stateDirectory {
            Console.say(
                "the journals in \(source.stateDirectory) hold \(journals.entries) new tokens that the store did not take: keep "
                    + "that state_dir in \(self.to), or they are lost"
            )
        }
        Console.say(
            "start the gateways with \(self.to), and never again with the old store \(source.path): the refresh tokens in it are "
                + "dead after the first refresh, if their provider rotates them"
        )
    }

    private func complain(
        _ outcome: StoreCopying.Outcome,
        _ source: OfflineStore,
        _ target: CopyTarget
    ) throws(CommandFailure) {
        guard outcome.changed.isEmpty else {
            throw CommandFailure(
                .no,
                "\(outcome.changed.count) records were changed during the copy, so something uses \(source.path) or "
                    + "\(target.name): stop it and run this again"
            )
        }
        guard outcome.locked.isEmpty else {
            throw CommandFailure(
                .no,
                "\(outcome.locked.count) of \(outcome.records) records are sealed under keys that \(target.keys.name) lacks: put "
                    + "all lines of \(source.keys.name) behind its first line and run this again"
            )
        }
    }
}

/// The store that a configuration names, as the target of a copy.
private struct CopyTarget {
    let stateDirectory: String
    private let driver: DriverStore

    var store: any TokenStore { self.driver.store }
    var keys: any KeyRingSource { self.driver.keys }
    var name: String { self.driver.name }

    /// Opens the store, or makes an empty one. Makes no key.
    init(configuration path: String, passphraseFile: String?) async throws {
        let settings = try OfflineStore.settings(path)
        guard settings.store.isDurable else {
            throw CommandFailure(.badConfiguration, "store in memory: a copy there would end with this command")
        }
        let keys = try await DriverStore.keyOrigin(settings, createsMissing: false)
            .keys(passphraseFile: passphraseFile, option: "--to-passphrase-file")
        do throws(StartError) {
            self.driver = try await DriverStore.open(settings, keys: keys, createsMissing: true)
        } catch {
            throw CommandFailure(error)
        }
        self.stateDirectory = settings.stateDirectory
    }

    /// The store, if it holds one already.
    func opened() async throws(StoreError) -> OpenedStore? {
        guard try await self.store.read(.canary) != nil else { return nil }
        return try await OpenedStore.openExisting(self.store, keys: self.keys)
    }

    func close() async { await self.driver.close() }

    /// The replicas that run on an earlier copy.
    func replicas() async throws(StoreError) -> [String] {
        guard let opened = try await self.opened() else { return [] }
        return try await ListedReplicas(opened, stateDirectory: self.stateDirectory).names()
    }
}

/// The result of a copy, as text.
package enum CopyText {
    /// A line such as `103 records: 100 copied, 2 removed, 103 verified`.
    package static func line(_ outcome: StoreCopying.Outcome) -> String {
        let others = [
            (outcome.removed, "removed"), (outcome.locked.count, "sealed under keys that the new store lacks"),
            (outcome.unreadable.count, "that did not open before"), (outcome.changed.count, "changed meanwhile"),
        ]
        let counts = others.filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
        return "\(outcome.records) records: \(outcome.copied) copied, \(outcome.verified) verified\(counts)"
    }
}
