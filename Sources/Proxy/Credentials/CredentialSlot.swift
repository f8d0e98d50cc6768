package import HTTPCaching
package import NIOCore
package import TokenModel

/// One account's current credential on one event loop, with the head lines that carry its token, which are made once
/// per credential. It is a class for the same reason as ``Gateway``.
package final class CredentialSlot {
    /// The provider that a token belongs to, and those it belonged to before.
    private struct Owner: Equatable {
        let provider: ProviderID
        let formerProviders: [ProviderID]
    }

    package let account: AccountID
    private var injections: [Injection]
    package private(set) var credential: UpstreamCredential?
    /// The parts of the credential that each request needs, apart from it: copying the credential retains every part.
    private var token: TokenVersion?
    private var origin = TokenOrigin(observedEpoch: .start, owner: 0)
    /// The owners of all credentials that were ever here, so that ``TokenOrigin`` can name one by its index.
    private var owners: [Owner] = []
    /// The end of the token or of the approval, whichever comes first: one comparison judges both.
    private var usableUntil = BootInstant.distantPast
    private var lines: [ByteBuffer] = []
    /// The account may be used only while an operator's approval stands.
    package private(set) var requiresApproval: Bool
    /// The end of the approval that stands: `.distantPast` for none, `.distantFuture` where none is required.
    private(set) var approvedUntil: BootInstant
    /// The slot holds a credential that a request may try to use: the token may have expired, and so may the approval,
    /// but there has been one.
    package var hasCredential: Bool { self.token != nil && BootInstant.distantPast < self.approvedUntil }
    /// A request has carried this credential's token.
    package private(set) var isUsed = false
    /// An upstream has accepted this credential's token.
    package private(set) var isProven = false
    /// The authorization whose stored responses may be used. It outlives the credential while its grant stands.
    package private(set) var cacheOwner: CacheOwner?

    init(_ slot: RouteTable.Slot) {
        self.account = slot.account
        self.injections = slot.injections
        self.requiresApproval = slot.requiresApproval
        self.approvedUntil = slot.requiresApproval ? .distantPast : .distantFuture
    }

    deinit {
        for index in self.lines.indices { self.lines[index].wipe() }
    }

    func install(_ credential: UpstreamCredential) {
        // A repeated event with an equal credential must not make the lines again.
        guard self.credential != credential else { return }
        self.credential = credential
        self.token = TokenVersion(credential)
        self.origin = TokenOrigin(observedEpoch: credential.observedEpoch, owner: self.place(of: credential))
        self.usableUntil = min(credential.usableUntil, self.approvedUntil)
        self.isUsed = false
        self.isProven = false
        self.cacheOwner = CacheOwner(credential)
        self.wipeLines()
        self.lines = self.injections.map { $0.line(for: credential) }
    }

    /// Overwrites the lines. Heads have copies, so nobody else uses the lines' memory.
    private func wipeLines() {
        for index in self.lines.indices { self.lines[index].wipe() }
        self.lines = []
    }

    private func place(of credential: UpstreamCredential) -> Int {
        let owner = Owner(provider: credential.provider, formerProviders: credential.formerProviders)
        if let place = self.owners.firstIndex(of: owner) { return place }
        self.owners.append(owner)
        return self.owners.count - 1
    }

    /// Adopts the approval that stands, and its end.
    func approve(until end: BootInstant) {
        self.approvedUntil = self.requiresApproval ? end : .distantFuture
        self.usableUntil = min(self.credential?.usableUntil ?? .distantPast, self.approvedUntil)
    }

    /// Adopts the slot of another table.
    ///
    /// - Parameter end: of the account's approval, if it requires one.
    func prepare(_ slot: RouteTable.Slot, approvedUntil end: BootInstant) {
        self.requiresApproval = slot.requiresApproval
        self.approve(until: end)
        self.prepare(slot.injections)
    }

    /// Prepares lines for `injections`, which begin with the present ones.
    private func prepare(_ injections: [Injection]) {
        guard injections.count > self.injections.count else { return }
        if let credential { self.lines += injections.dropFirst(self.injections.count).map { $0.line(for: credential) } }
        self.injections = injections
    }

    /// - Returns: whether this is the first time for the current credential.
    func use() -> Bool {
        defer { self.isUsed = true }
        return !self.isUsed
    }

    /// - Returns: whether this is the first time for the current credential.
    func prove(_ token: TokenVersion) -> Bool {
        guard !self.isProven, self.token == token else { return false }
        self.isProven = true
        return true
    }

    /// Removes the credential. Responses that were stored for its grant may still be used.
    func lapse() {
        self.credential = nil
        self.token = nil
        self.wipeLines()
    }

    func clear() {
        self.lapse()
        self.cacheOwner = nil
    }

    /// Whether a kill forbids the credential, or the grant of the last one.
    func holdsDead(by epochs: KillEpochs) -> Bool {
        guard self.token != nil || self.cacheOwner != nil else { return false }
        return self.verdict(on: self.origin, by: epochs) != .live
    }

    /// Whether a stored response may be used: its authorization is the slot's, and no kill has come since.
    func mayServe(_ owner: CacheOwner, by epochs: KillEpochs) -> Bool {
        guard let mine = self.cacheOwner, mine.covers(owner) else { return false }
        return self.verdict(on: self.origin(of: owner), by: epochs) == .live
    }

    /// The origin of the token that fetched a stored response.
    func origin(of owner: CacheOwner) -> TokenOrigin {
        TokenOrigin(observedEpoch: owner.observedEpoch, owner: self.origin.owner)
    }

    /// The credential, if its token may be written at `now`.
    func usableCredential(at now: BootInstant) -> UpstreamCredential? {
        now < self.usableUntil ? self.credential : nil
    }

    /// The prepared line of the credential, and the token set that it carries, if the token may be written at `now` and
    /// is not `refused`.
    func line(
        _ index: Int,
        at now: BootInstant,
        unless refused: TokenVersion?
    ) -> (line: ByteBuffer, token: TokenVersion, origin: TokenOrigin)? {
        guard let token = self.token, now < self.usableUntil, token != refused else { return nil }
        return (self.lines[index], token, self.origin)
    }

    /// The provider of the last credential; `nil` where none has ever come.
    var provider: ProviderID? { self.owners.isEmpty ? nil : self.owners[self.origin.owner].provider }

    /// Judges a token that was in this slot.
    func verdict(on origin: TokenOrigin, by epochs: KillEpochs) -> KillEpochs.Verdict {
        let owner = self.owners[origin.owner]
        return epochs.verdict(
            on: origin.observedEpoch,
            of: self.account,
            at: owner.provider,
            formerly: owner.formerProviders
        )
    }

    /// Whether a request in progress may finish although its token, which was in this slot, is dead.
    func mayEnd(with origin: TokenOrigin, by epochs: KillEpochs) -> Bool {
        let owner = self.owners[origin.owner]
        return epochs.mayEnd(
            with: origin.observedEpoch,
            of: self.account,
            at: owner.provider,
            formerly: owner.formerProviders
        )
    }
}

/// The lines hold the token, so a description of a slot shows nothing but its account.
extension CredentialSlot: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "slot of \(self.account)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the kill switch needs to judge a token that a request carries, besides its slot: two numbers, which cost
/// nothing to copy.
package struct TokenOrigin: Equatable, Sendable {
    /// The kill epoch that the token's writer had read.
    package let observedEpoch: Epoch
    /// The index, in the slot's list, of the providers that the token belongs to and belonged to before.
    let owner: Int
}

/// The header field that carries the token, and the text ahead of it there. On the data path only this type reads a
/// token's bytes.
package struct Injection: Sendable, Hashable {
    package var header: String
    package var prefix: String

    package init(header: String = "Authorization", prefix: String = "Bearer ") {
        self.header = header
        self.prefix = prefix
    }

    /// The injected line and the empty line that ends the head.
    ///
    /// Characters that could end a line are refused when a token is taken from a provider or an import.
    package func line(for credential: UpstreamCredential) -> ByteBuffer {
        var line = ByteBuffer()
        line.reserveCapacity(self.header.utf8.count + self.prefix.utf8.count + credential.accessToken.count + 6)
        line.writeString("\(self.header): \(self.prefix)")
        credential.accessToken.withUnredacted { token in
            for index in token.indices { line.writeInteger(token[index]) }
        }
        line.writeStaticString("\r\n\r\n")
        return line
    }
}

/// The last announced credential of each account, whether any route uses it or not: nothing is announced again when a
/// route that uses it is added. Dead credentials are not kept.
package struct CredentialTable: Sendable {
    private var credentials: [AccountID: UpstreamCredential] = [:]
    /// The end of each account's last approval, whether one is required or not.
    private var approvals: [AccountID: BootInstant] = [:]
    /// The gateway is locked: the table is empty, and takes no event.
    private(set) var isLocked = false
    /// The authorization whose stored responses may be used, of each account that has one.
    private var owners: [AccountID: (owner: CacheOwner, provider: ProviderID, formerProviders: [ProviderID])] = [:]
    /// Which tokens are dead.
    package private(set) var epochs = KillEpochs()

    package init() {}

    /// - Returns: whether an authorization has ended whose responses may be stored.
    @discardableResult package mutating func apply(_ event: CredentialEvent) -> Bool {
        guard !self.isLocked else { return false }
        switch event {
        case .installed(let credential):
            guard self.epochs.verdict(on: credential) == .live else { return false }
            self.credentials[credential.account] = credential
            let old = self.owners[credential.account]?.owner
            let owner = CacheOwner(credential)
            self.owners[credential.account] = owner.map { ($0, credential.provider, credential.formerProviders) }
            return old.map { owner?.covers($0) != true } ?? false
        case .lapsed(let account), .retired(let account):
            self.credentials[account] = nil
            return false
        case .dropped(let account):
            self.credentials[account] = nil
            return self.owners.removeValue(forKey: account) != nil
        case .approved(let account, let end):
            self.approvals[account] = end
            return false
        }
    }

    /// Removes everything but the kill log, and takes no event until ``unlock()``.
    package mutating func lock() {
        self.isLocked = true
        self.credentials = [:]
        self.owners = [:]
        self.approvals = [:]
    }

    package mutating func unlock() { self.isLocked = false }

    /// The end of an account's last approval.
    func approvedUntil(_ account: AccountID) -> BootInstant { self.approvals[account] ?? .distantPast }

    /// Whether a stored response may still be used.
    func serves(_ owner: CacheOwner, of account: AccountID) -> Bool {
        guard let mine = self.owners[account], mine.owner.covers(owner) else { return false }
        return self.epochs.verdict(
            on: owner.observedEpoch,
            of: account,
            at: mine.provider,
            formerly: mine.formerProviders
        ) == .live
    }

    /// Adopts a kill log, unless it is older than the current one, and drops dead credentials.
    package mutating func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        self.credentials = self.credentials.filter { self.epochs.verdict(on: $0.value) == .live }
        self.owners = self.owners.filter { self.serves($0.value.owner, of: $0.key) }
    }

    package subscript(account: AccountID) -> UpstreamCredential? { self.credentials[account] }
}
