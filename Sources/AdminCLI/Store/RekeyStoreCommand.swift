internal import ArgumentParser
internal import Audit
internal import FoundationEssentials
internal import TextCoding
internal import TokenModel
internal import TokenStorage

/// `martlet store rekey`.
struct RekeyStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Change the key that the store is sealed under.",
        discussion: """
            Puts a new key before the others in the file that store.sealing_key_file names, and seals every record anew
            under it. Where some are still under an older key than the file's first, such as after a run that was cut
            short, it goes on with that one and adds none. Gateways may run meanwhile: they go over to the new key by
            themselves. A record whose account is being refreshed is left, and the exit code is 1: run it again.

            The old key stays in the file until --retire takes out those that no record is sealed under, and no new tokens
            in a journal of state_dir. That takes 10 s, or replica.lease if that is longer: within it each gateway that runs
            has put its own record under the key that it seals with, so that a key which one of them still goes by stays. Where
            a key stays for such a gateway or a journal, the exit code is 1. Keep a copy of the file before and after: without
            its key nothing in a backup of the store opens.

            Where replicas on several hosts share the store, each host has a file of its own. The new key is added to this
            host's, and used as soon as every replica has it: while one lacks it, nothing is sealed anew, the replicas that
            lack it are named, and the exit code is 1. Copy the file to their hosts, and run it again.

            Example:
              martlet store rekey --config martlet.yaml
              martlet store verify --config martlet.yaml
              martlet store rekey --retire --config martlet.yaml
            """
    )

    @OptionGroup var source: StoreOptions
    @Flag(help: "Add no key; seal what is left under old keys anew, and take those out that no record needs.")
    var retire = false
    @Flag(name: .customLong("json"), help: "Print JSON.") var isJSON = false

    func run() async throws {
        let path = self.source.path
        try await withOfflineStore(configuration: path, passphraseFile: self.source.passphraseFile) { store in
            let rekeying = try Rekeying(
                store.opened,
                keys: try store.keyFile(),
                journalsIn: store.stateDirectory,
                settling: max(.seconds(10), store.lease),
                replicas: store.replicas
            )
            let outcome = try await store.audited(.rekey, detail: self.retire ? "--retire" : nil) {
                var progress = ProgressLines("looked at")
                let outcome = try await rekeying.run(retires: self.retire) { progress.reached($0.records) }
                // The record of the end is sealed under the key that seals now.
                try? await store.opened.records.followCanary()
                return outcome
            } ended: { outcome in
                let retired = outcome.retired.map { ", key \($0) taken out" }.joined()
                let added = outcome.keyAdded ? "key \(outcome.key) added, " : ""
                let isDone = outcome.resealing.isComplete && outcome.missingAt.isEmpty
                return (isDone ? "done" : "incomplete", "\(added)\(Self.counts(outcome))\(retired)")
            }
            try self.report(outcome, of: store)
            try self.complain(outcome, of: store)
        }
    }

    private func report(_ outcome: Rekeying.Outcome, of store: OfflineStore) throws {
        let resealing = outcome.resealing
        guard !self.isJSON else {
            return try Console.sayJSON(
                RekeyReport(
                    store: store.path,
                    key: outcome.key.description,
                    keyAdded: outcome.keyAdded,
                    records: resealing.records,
                    resealed: resealing.resealed,
                    left: resealing.left.map(FoundRecord.init),
                    unreadable: resealing.unreadable.map(FoundRecord.init),
                    unused: outcome.unused.map(\.description),
                    journalled: outcome.journalled.map(\.description),
                    lingering: outcome.lingering.map(\.description),
                    missingAt: outcome.missingAt,
                    retired: outcome.retired.map(\.description)
                )
            )
        }
        if outcome.keyAdded { Console.say("key \(outcome.key) is new in \(store.keys.name): keep a copy of that file") }
        guard outcome.missingAt.isEmpty else { return }
        Console.say(Self.counts(outcome))
        for finding in resealing.left + resealing.unreadable {
            Console.say(PlainText.line("\(finding.record): \(finding.reason)"))
        }
        for key in outcome.retired { Console.say("key \(key) was taken out") }
        for key in outcome.lingering {
            Console.say(
                "key \(key) stays: a gateway still seals under it; restart those that have another file, then run this again"
            )
        }
        for key in outcome.journalled {
            Console.say(
                "key \(key) stays for the journals in \(store.stateDirectory); martlet store verify says what they hold"
            )
        }
        for key in outcome.unused {
            Console.say("key \(key) seals nothing any more; martlet store rekey --retire takes it out")
        }
    }

    private static func counts(_ outcome: Rekeying.Outcome) -> String {
        ResealingText.line(
            records: outcome.resealing.records,
            resealed: outcome.resealing.resealed,
            left: outcome.resealing.left.count,
            unreadable: outcome.resealing.unreadable.count,
            key: outcome.key.description
        )
    }

    private func complain(_ outcome: Rekeying.Outcome, of store: OfflineStore) throws(CommandFailure) {
        let resealing = outcome.resealing
        guard outcome.missingAt.isEmpty || !self.retire else {
            throw CommandFailure(
                .no,
                "these replicas do not seal under key \(outcome.key) yet, so no key was taken out: "
                    + "\(outcome.missingAt.joined(separator: ", ")); run this again when they are back, or have them forgotten: "
                    + "martlet replicas forget NAME"
            )
        }
        guard outcome.missingAt.isEmpty else {
            throw CommandFailure(
                .no,
                "these replicas do not have key \(outcome.key) yet, so nothing was sealed anew: "
                    + "\(outcome.missingAt.joined(separator: ", ")); copy \(store.keys.name) to their hosts and run this again"
            )
        }
        guard resealing.unreadable.isEmpty else {
            throw CommandFailure(
                .no,
                "\(resealing.unreadable.count) of \(resealing.records) records of \(store.path) do not open; they are kept, "
                    + "and so are the keys they name"
            )
        }
        guard resealing.left.isEmpty else {
            throw CommandFailure(
                .no,
                "\(resealing.left.count) of \(resealing.records) records of \(store.path) were left as they are; run this again"
            )
        }
        let kept = outcome.lingering + outcome.journalled
        guard !self.retire || kept.isEmpty else {
            throw CommandFailure(.no, "\(kept.count) old keys of \(store.keys.name) had to stay, since they are needed")
        }
    }
}

/// The result of resealing a store's records, as text. Each record is in exactly one of the counts.
package enum ResealingText {
    /// A line such as `103 records: 102 sealed anew under key k2, 1 under it already`. Records that a gateway has
    /// written in the meantime are already under the new key.
    ///
    /// - Parameters:
    ///   - records: the records examined.
    ///   - left: records whose account is being refreshed, or that others changed at each attempt.
    ///   - unreadable: records that can't be opened.
    package static func line(records: Int, resealed: Int, left: Int, unreadable: Int, key: String) -> String {
        let others = [
            ("under it already", records - resealed - left - unreadable), ("left as they are", left),
            ("that do not open", unreadable),
        ]
        let counts = others.filter { $0.1 > 0 }.map { ", \($0.1) \($0.0)" }.joined()
        return "\(records) records: \(resealed) sealed anew under key \(key)\(counts)"
    }
}

/// Prints the progress of long work to standard error, at most every 2 s.
struct ProgressLines {
    private let work: String
    private var next: BootInstant

    /// - Parameter work: what is done with the records, such as `checked`.
    init(_ work: String) {
        self.work = work
        self.next = BootInstant.now.advanced(by: Self.interval)
    }

    private static let interval = Duration.seconds(2)

    mutating func reached(_ records: Int) {
        let now = BootInstant.now
        guard now >= self.next else { return }
        self.next = now.advanced(by: Self.interval)
        Console.mention("\(self.work) \(records) records so far")
    }
}
