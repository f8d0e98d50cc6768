internal import Synchronization
internal import SystemSupport
package import TokenModel

/// The host state in a `state_dir`: the locks and journals of the processes on this host (``IncarnationRegistry``), and
/// this host's copy of the kill log with the kills that wait for the store (``KillLogFile``).
///
/// Several processes on one host may share the directory. Sharing it between hosts is no error, but a lock in it proves
/// nothing to another host.
package final class DirectoryHostState: HostState {
    /// This host's copy of the store's kill log.
    package let killLog: KillLogFile
    private let directory: String
    private let register = Mutex<IncarnationRegistry?>(nil)
    private let beginning = Mutex<SystemCallError?>(nil)

    /// - Parameter isDurable: whether the store outlives the process. If not, its kill log has a fixed name, which each
    ///   start finds again.
    package init(_ directory: String, of store: OpenedStore, isDurable: Bool) {
        self.directory = directory
        self.killLog = KillLogFile(in: directory, of: isDurable ? store.storeID.rawValue : KillLogFile.memory)
    }

    /// Begins `incarnation`: locks its file and makes its journal. If that fails, for instance on a full disk, the
    /// process runs without them, and ``limitations`` says so.
    ///
    /// - Parameters:
    ///   - journal: `nil` if the store ends with the process.
    ///   - dispose: handles tokens from the journals of ended incarnations that the store no longer accepts.
    /// - Returns: what was done with the journals of ended incarnations.
    package func begin(
        _ incarnation: IncarnationID,
        _ store: OpenedStore,
        journal: JournalCapacity?,
        _ dispose: @escaping TokenDisposal
    ) async -> Inheritance {
        do throws(SystemCallError) {
            let register = try IncarnationRegistry(incarnation, in: self.directory, store, journal: journal, dispose)
            self.register.withLock { $0 = register }
        } catch {
            self.beginning.withLock { $0 = error }
        }
        return await self.inheritAll()
    }

    /// Finds incarnations that have ended, and takes over their journals.
    ///
    /// - Parameter hasFailedOver: the store may have lost what was taken over before.
    package func inheritAll(hasFailedOver: Bool = false) async -> Inheritance {
        await self.register.withLock { $0 }?.inheritAll(hasFailedOver: hasFailedOver) ?? Inheritance()
    }

    /// Ends the incarnation; see ``IncarnationRegistry/close(leavesNothing:)``.
    package func close(leavesNothing: Bool = true) async {
        await self.register.withLock { $0.take() }?.close(leavesNothing: leavesNothing)
    }

    package var limitations: [String] {
        get async {
            if let error = self.beginning.withLock({ $0 }) {
                return [
                    "other processes can't prove that this one has ended, and there is no journal (\(error.message))"
                ]
            }
            guard let register = self.register.withLock({ $0 }), await register.lacksJournal else { return [] }
            return ["there is no journal: state_dir has no room for it, or can't be written"]
        }
    }

    // MARK: - Processes and their journals

    package func isDead(_ incarnation: IncarnationID) async -> Bool {
        await self.register.withLock { $0 }?.isDead(incarnation) ?? false
    }

    package func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? {
        await self.register.withLock { $0 }?.keep(record, for: account)
    }

    package func release(_ place: JournalPlace) async { await self.register.withLock { $0 }?.release(place) }

    // MARK: - The kill log

    package var storeEndsWithProcess: Bool { self.killLog.storeEndsWithProcess }
    package func entries() async throws(StoreError) -> [KillLogFileEntry] { try await self.killLog.entries() }
    package func add(_ entries: [KillLogFileEntry]) async throws(StoreError) { try await self.killLog.add(entries) }
    package func drop(pendingKill id: String) async -> Bool { await self.killLog.drop(pendingKill: id) }

    package func keep(pendingKill bytes: Secret, id: String) async throws(StoreError) {
        try await self.killLog.keep(pendingKill: bytes, id: id)
    }

    package func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>] {
        try await self.killLog.pendingKills()
    }
}
