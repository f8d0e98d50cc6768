import OAuth
import TokenModel
import TokenRefresh
import TokenStorage

/// Runs one flight without concurrency, with one record, scripted verdicts, a time that the test sets, and a hook
/// before each step.
struct FlightBench {
    /// The entry in the store.
    var stored: AccountVault.Entry?
    var now = Moment.start
    var verdicts: [TokenVerdict]
    var refresh = RefreshRequest.usable
    /// The grant that a first mint begins; `nil` if the account does not mint.
    var mints: GrantID?
    var signsIn = false
    /// The number of proofs by which the client can authenticate.
    var proofs = 1
    /// The digests of the proofs; `nil` if the proofs are not secrets.
    var proofDigests: [TokenDigest]?
    /// When the provider last accepted the first proof from this process.
    var proofAcceptedAt: WallTime?
    var watch = ClaimWatch()
    var timeout = Duration.seconds(8)
    /// Whether the process is stopping, as the flight learns at its next pause.
    var stopping = Stopping.no
    /// The kills as read when the flight is admitted.
    var epochs = KillEpochs()
    /// The error that refuses the admission; `nil` admits the flight.
    var refusal: CredentialError?
    /// Whether the journal can be written.
    var hasJournal = true
    var journalsFirst = false
    /// The records in the journal.
    private(set) var journalled: [AccountRecord] = []
    /// The entries that the waiters got before the store had them.
    private(set) var passed: [AccountVault.Entry] = []
    /// The incarnations that are known to have ended.
    var deadBoots: Set<IncarnationID> = []
    /// Called before each step, with the step's name and the number of earlier steps.
    var interfere: ((inout FlightBench, _ step: String, _ number: Int) -> Void)?
    /// The error of the next read or write, which then has no other effect.
    var failure: StoreError?
    /// Whether the next write takes effect but its acknowledgment is lost.
    var losesAnswer = false
    /// How long the next step takes.
    var takes = Duration.zero

    private(set) var steps: [String] = []
    private(set) var spent: [String] = []
    /// The number of the client's proof in each exchange.
    private(set) var shown: [Int] = []

    static let incarnation = IncarnationID("me")
    static let claim = ClaimID("mine")

    init(_ record: AccountRecord?, _ verdicts: [TokenVerdict] = []) {
        self.stored = record.map { AccountVault.Entry(record: $0, version: Version(1)) }
        self.verdicts = verdicts
    }

    /// Another replica's claim with a term of 12 s.
    static let others = AccountRecord.Claim(
        incarnation: IncarnationID("other"),
        id: ClaimID("theirs"),
        standsFor: .seconds(12)
    )
    /// Another replica's claim with a term of 6 s, so that it lapses while callers still wait.
    static let othersShort = AccountRecord.Claim(
        incarnation: IncarnationID("other"),
        id: ClaimID("theirs"),
        standsFor: .seconds(6)
    )

    /// Writes a record into the store like another process.
    mutating func put(_ record: AccountRecord?) {
        self.stored = record.map {
            AccountVault.Entry(record: $0, version: self.stored?.version.next ?? Version(1))
        }
    }

    /// Changes the stored record like another process.
    mutating func change(_ change: (inout AccountRecord) -> Void) {
        guard let record = self.stored?.record else { return }
        self.put(record.with(change))
    }

    mutating func fly(after snapshot: RecordSnapshot? = nil) -> FlightOutcome {
        let plan = FlightParameters(
            account: alice,
            binding: .acme,
            mints: self.mints,
            signsIn: self.signsIn,
            proofs: ProofOrder(
                digests: self.proofDigests ?? Array(repeating: nil, count: self.proofs),
                acceptedAt: self.proofAcceptedAt
            ),
            timeout: self.timeout,
            journalsFirst: self.journalsFirst,
            incarnation: Self.incarnation,
            claim: Self.claim,
            refresh: self.refresh,
            jitter: 1
        )
        var flight = Flight(plan, snapshot: snapshot, watch: self.watch)
        var action = flight.begin()
        while self.steps.count < 500 {
            let name = Self.name(action)
            self.interfere?(&self, name, self.steps.count)
            self.steps.append(name)
            let startedAt = self.now.boot
            self.now = self.now.advanced(by: self.takes)
            self.takes = .zero
            switch action {
            case .read:
                let result = self.read()
                let holder = (try? result.get())?.record.claim?.incarnation
                let isHolderDead = holder.map(self.deadBoots.contains) ?? false
                action = flight.didRead(result, isHolderDead: isHolderDead, now: self.now)
            case .admit:
                action = flight.didAdmit(self.refusal, under: self.epochs, now: self.now)
            case .write(let record, let expecting):
                action = flight.didWrite(self.write(record, expecting), sentAt: startedAt, now: self.now)
            case .redeem(let refreshToken, let sendBy):
                self.shown.append(flight.proof)
                action = flight.didRedeem(self.redeem(refreshToken, by: sendBy), now: self.now)
            case .mint(let sendBy):
                self.shown.append(flight.proof)
                action = flight.didRedeem(self.redeem(Secret("mint"), by: sendBy), now: self.now)
            case .journal(let record, _):
                if self.hasJournal { self.journalled.append(record) }
                action = flight.didJournal(self.hasJournal, now: self.now)
            case .pass(let entry, _):
                self.passed.append(entry)
                action = flight.didPass(now: self.now)
            case .pause(let until):
                self.now = self.now.advanced(by: self.now.boot.duration(to: until))
                action = flight.didPause(self.stopping)
            case .end(let outcome):
                self.steps.removeLast()
                return outcome
            }
        }
        return FlightOutcome(.failed(CredentialError(.overloaded, "the flight never ended")), snapshot: nil)
    }

    private mutating func read() -> Result<AccountVault.Entry?, StoreError> {
        defer { self.failure = nil }
        return self.failure.map { .failure($0) } ?? .success(self.stored)
    }

    private mutating func write(_ record: AccountRecord, _ expecting: Version?) -> Result<Version, StoreError> {
        defer {
            self.failure = nil
            self.losesAnswer = false
        }
        if let failure { return .failure(failure) }
        guard self.stored?.version == expecting else { return .failure(.conflict(nil)) }
        let version = expecting?.next ?? .first
        self.stored = AccountVault.Entry(record: record, version: version)
        return self.losesAnswer ? .failure(.away) : .success(version)
    }

    private mutating func redeem(_ refreshToken: Secret, by sendBy: BootInstant) -> TokenVerdict {
        guard self.now.boot <= sendBy else { return .notSent(.sendingTooLate) }
        self.spent.append(refreshToken.text)
        return self.verdicts.isEmpty ? .refused(.code("not_in_the_script")) : self.verdicts.removeFirst()
    }

    private static func name(_ action: FlightAction) -> String {
        switch action {
        case .read: "read"
        case .admit: "admit"
        case .write(let record, _) where record.claim != nil: "claim"
        case .write(let record, _) where record.failureRecord != nil: "write back"
        case .write: "commit"
        case .redeem: "redeem"
        case .mint: "mint"
        case .journal: "journal"
        case .pass: "pass"
        case .pause: "pause"
        case .end: "end"
        }
    }
}

extension StoreError {
    static let away = StoreError(.unreachable, "the store is away")
    static let full = StoreError(.unwritable, "the disk is full")
    static let spoiled = StoreError(.unreadable, "a bit has flipped")
}

extension CredentialError {
    /// An error with this code. Errors are equal if their codes are.
    static func any(_ code: Code) -> CredentialError { CredentialError(code, "") }
}
