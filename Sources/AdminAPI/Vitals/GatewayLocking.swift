package import Audit
package import KillSwitch
package import TokenModel
package import TokenStorage

/// Locks and unlocks the gateway, which the admin API can't do itself. The program that assembles the gateway implements
/// it, and records each order in the audit log, because that log is out of reach while the gateway is locked.
package protocol GatewayLocking: Sendable {
    /// Must return at once.
    var lockStatus: LockStatus { get }

    /// Takes keys and tokens out of the process. When this returns, no request gets a token any more.
    ///
    /// - Returns: the status at that time: ``LockStatus/State/locking`` while token requests are still open.
    func lock(_ order: LockOrder, by actor: AuditActor) async throws(LockError) -> LockStatus

    /// Opens the store again and serves callers.
    ///
    /// - Parameter offered: the key that the operator gives; `nil` if the gateway gets it itself.
    func unlock(_ offered: OfferedKey?, by actor: AuditActor) async throws(LockError) -> LockStatus

    /// Notes a wrong admin token while there is no audit log.
    ///
    /// - Parameter address: of the connection's peer.
    func refusedToken(from address: String?) async

    /// Takes a kill while the gateway is not open, for the time when it is.
    func kill(
        _ scope: KillScope,
        reason: String,
        streams: KillStreams,
        by actor: AuditActor
    ) async throws(LockError) -> KillReport
}

/// A lock as an operator orders it.
package struct LockOrder: Equatable, Sendable {
    /// For people. It stays in the audit log.
    package let reason: String
    /// Whether all replicas of the store are locked, not only this process.
    package let isForAllReplicas: Bool
    /// Whether open token requests are given up instead of waited for.
    package let isNow: Bool

    package init(reason: String, isForAllReplicas: Bool = false, isNow: Bool = false) {
        self.reason = reason
        self.isForAllReplicas = isForAllReplicas
        self.isNow = isNow
    }
}

/// Whether the process holds keys and tokens, and what an unlock takes.
package struct LockStatus: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        case open
        case unlocking
        /// No request gets a token any more. Keys stay until open token requests are committed or journalled.
        case locking
        /// The process holds no key and no token.
        case locked
    }

    /// What an operator must bring to unlock.
    package enum Need: String, Sendable, CaseIterable {
        case passphrase
        /// The passphrase that the store has from then on: it has none yet.
        case newPassphrase = "new_passphrase"
        case key
        case nothing
    }

    package var state: State
    /// When ``state`` began.
    package var since: WallTime?
    /// Why it is locked, in the words of the operator or of the program.
    package var reason: String?
    /// Who locked it (``AuditActor/memo``); `nil` if nobody did.
    package var by: String?
    package var isForAllReplicas: Bool
    /// `nil` while the gateway is open.
    package var needs: Need?
    /// What the unlock waits for, such as a command that failed and is tried again.
    package var waitsFor: String?
    /// While ``State/locking``: the accounts with an open token request.
    package var openAccounts: [AccountID]
    /// The accounts whose token requests were given up, so that their refresh tokens may be lost.
    package var lostAccounts: [AccountID]
    /// The other replicas that an order for all replicas is for.
    package var otherReplicas: [KillReport.Replica]
    /// Whether the lock survives a restart.
    package var isKept: Bool

    package init(
        _ state: State,
        since: WallTime? = nil,
        reason: String? = nil,
        by: String? = nil,
        isForAllReplicas: Bool = false,
        needs: Need? = nil,
        waitsFor: String? = nil,
        openAccounts: [AccountID] = [],
        lostAccounts: [AccountID] = [],
        otherReplicas: [KillReport.Replica] = [],
        isKept: Bool = true
    ) {
        self.state = state
        self.since = since
        self.reason = reason
        self.by = by
        self.isForAllReplicas = isForAllReplicas
        self.needs = needs
        self.waitsFor = waitsFor
        self.openAccounts = openAccounts
        self.lostAccounts = lostAccounts
        self.otherReplicas = otherReplicas
        self.isKept = isKept
    }

    /// Whether nothing of the order is left to do, here and at other replicas.
    package var isComplete: Bool {
        self.state == .locked && self.otherReplicas.allSatisfy { $0.state != .pending }
    }
}

/// The reason why the gateway was not locked or unlocked. Two errors are equal if their codes are equal.
package struct LockError: Error, Sendable {
    /// The reason, for programs.
    package enum Code: String, Sendable, CaseIterable {
        case alreadyOpen = "already_open"
        case alreadyLocked = "already_locked"
        /// Another order is being carried out.
        case busy
        case wrongPassphrase = "wrong_passphrase"
        case wrongKey = "wrong_key"
        /// The gateway can't get the key itself, such as from a command that fails.
        case keyUnavailable = "key_unavailable"
        case tooManyAttempts = "too_many_attempts"
        case passphraseNeeded = "passphrase_needed"
        case passphraseTooShort = "passphrase_too_short"
        case storeUnreachable = "store_unreachable"
        /// The store does not belong to the key or to this host, or is of another version.
        case storeRefused = "store_refused"
        /// A kill of a name that the configuration does not have.
        case unknownScope = "unknown_scope"
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help. Never contains a key or a passphrase.
    package let message: String
    /// When the next attempt may help; `nil` if that is not known.
    package let retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }
}

extension LockError: Equatable {
    package static func == (left: LockError, right: LockError) -> Bool { left.code == right.code }
}
