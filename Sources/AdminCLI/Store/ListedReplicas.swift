internal import KillSwitch
internal import TokenModel
internal import TokenStorage

/// The replicas listed in a store that are not known to have ended. No gateway needs to run to find them.
///
/// A gateway that stops in order takes itself out of the list. One that was killed on this host has lost its lock in
/// `state_dir`, which proves its end. Nothing proves the end of one that was killed on another host, except that it does
/// not come back after it was expelled: a running gateway notices that within its lease and joins again.
struct ListedReplicas: Sendable {
    private let vault: ReplicaVault
    private let opened: OpenedStore
    private let stateDirectory: String

    /// - Parameter stateDirectory: the `state_dir` of the gateways of this host that use the store.
    init(_ opened: OpenedStore, stateDirectory: String) {
        self.vault = ReplicaVault(opened.records)
        self.opened = opened
        self.stateDirectory = stateDirectory
    }

    /// The names of the replicas that are not known to have ended.
    func names() async throws(StoreError) -> [String] {
        let listing = try await self.vault.list()
        let named = listing.entries.filter { !self.isEnded($0) }.map(Self.name)
        return (named + listing.unreadable.map(\.unreadableName)).sorted()
    }

    /// Expels the replicas that are not known to have ended, waits until each that runs has noticed, and removes those
    /// that did not join again.
    ///
    /// - Returns: the names of those that run, or whose record does not open.
    func forgetSilent() async throws -> [String] {
        let entries = try await self.vault.list().entries.filter { !self.isEnded($0) }
        guard let silence = entries.map({ $0.record.silence(on: self.opened.store.guarantees.reach) }).max() else {
            return try await self.names()
        }
        for entry in entries where !entry.record.isExpelled {
            if case .failed(let error) = await self.vault.expel(entry) { throw error }
        }
        let seconds = Int((silence / .seconds(1)).rounded(.up))
        Console.mention("waiting \(seconds) s for a sign of \(entries.map(Self.name).joined(separator: ", "))")
        try await Task.sleep(for: silence, clock: .continuous)
        for entry in try await self.vault.list().entries where entry.record.isExpelled {
            try await self.vault.remove(entry.id)
        }
        return try await self.names()
    }

    private func isEnded(_ entry: ReplicaVault.Entry) -> Bool {
        self.opened.isEnded(entry.record.incarnation, in: self.stateDirectory)
    }

    private static func name(_ entry: ReplicaVault.Entry) -> String {
        "\(entry.record.name) (\(entry.record.incarnation.rawValue.prefix(8)))"
    }
}
