package import NIOCore
package import TokenModel

/// One account's current pass on one event loop, with the lines that carry its token, made once per pass. An object, for
/// the same reason as ``Gateway``.
package final class CredentialSlot {
    /// Whose a token is, and whose it was before.
    private struct Owner: Equatable {
        let provider: ProviderID
        let formerProviders: [ProviderID]
    }

    package let account: AccountID
    private var injections: [Injection]
    package private(set) var credential: UpstreamCredential?
    /// What each request asks of the credential, apart from it: a copy of the credential costs a count for each of its parts.
    private var token: TokenVersion?
    private var origin = TokenOrigin(observedEpoch: .start, owner: 0)
    /// All whose passes were ever here, so that ``TokenOrigin`` can name one by its place.
    private var owners: [Owner] = []
    private var usableUntil = BootInstant.distantPast
    private var lines: [ByteBuffer] = []
    /// The credential is there, good or not.
    package var hasCredential: Bool { self.token != nil }
    /// A request has carried this credential's token.
    package private(set) var isUsed = false
    /// An upstream has taken this credential's token.
    package private(set) var isProven = false

    init(account: AccountID, injections: [Injection]) {
        self.account = account
        self.injections = injections
    }

    deinit {
        for index in self.lines.indices { self.lines[index].wipe() }
    }

    func install(_ credential: UpstreamCredential) {
        // Only for a credential that says something new: a doubled event must not make lines again.
        guard self.credential != credential else { return }
        self.credential = credential
        self.token = TokenVersion(credential)
        self.origin = TokenOrigin(observedEpoch: credential.observedEpoch, owner: self.place(of: credential))
        self.usableUntil = credential.usableUntil
        self.isUsed = false
        self.isProven = false
        self.wipeLines()
        self.lines = self.injections.map { $0.line(for: credential) }
    }

    /// Heads have copies: the lines are nobody else's.
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

    /// Prepares lines for `injections`, which begin with those there are.
    func prepare(_ injections: [Injection]) {
        guard injections.count > self.injections.count else { return }
        if let credential { self.lines += injections.dropFirst(self.injections.count).map { $0.line(for: credential) } }
        self.injections = injections
    }

    /// - Returns: whether that is news.
    func use() -> Bool {
        defer { self.isUsed = true }
        return !self.isUsed
    }

    /// - Returns: whether that is news.
    func prove(_ token: TokenVersion) -> Bool {
        guard !self.isProven, self.token == token else { return false }
        self.isProven = true
        return true
    }

    func clear() {
        self.credential = nil
        self.token = nil
        self.wipeLines()
    }

    /// The credential, if its token may be written at `now`.
    func usableCredential(at now: BootInstant) -> UpstreamCredential? {
        guard let credential = self.credential, now < credential.usableUntil else { return nil }
        return credential
    }

    /// The prepared line of the credential, and which token set it carries, if that may be written at `now` and is not `refused`.
    func line(
        _ index: Int,
        at now: BootInstant,
        unless refused: TokenVersion?
    ) -> (line: ByteBuffer, token: TokenVersion, origin: TokenOrigin)? {
        guard let token = self.token, now < self.usableUntil, token != refused else { return nil }
        return (self.lines[index], token, self.origin)
    }

    /// Whose the last pass was; `nil` where none has ever come.
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

    /// Whether a request under way with a token that was in this slot may go on to its end, where that is dead.
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

/// The lines hold the token: nothing of a slot is shown but whose it is.
extension CredentialSlot: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "slot of \(self.account)" }
    package var debugDescription: String { self.description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the kill switch asks of a token that a request carries, besides its slot: two numbers, which cost nothing to copy.
package struct TokenOrigin: Equatable, Sendable {
    /// The kill epoch that the token's writer had read.
    package let observedEpoch: Epoch
    /// Whose token it is, and was before: a place in the slot's list.
    let owner: Int
}

/// Which field carries the token, and what stands before it there. The one place of the data path that opens a token.
package struct Injection: Sendable, Hashable {
    package var header: String
    package var prefix: String

    package init(header: String = "Authorization", prefix: String = "Bearer ") {
        self.header = header
        self.prefix = prefix
    }

    /// The injected line and the empty line that ends the head.
    ///
    /// Tokens are checked for characters that could end a line when they are taken from a provider or an import.
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

/// The credential of each account as it was last announced, whether any route uses it or not: when a route comes that does,
/// nobody announces it again. Dead ones are not kept.
package struct CredentialTable: Sendable {
    private var credentials: [AccountID: UpstreamCredential] = [:]
    /// Which tokens are dead.
    package private(set) var epochs = KillEpochs()

    package init() {}

    package mutating func apply(_ event: CredentialEvent) {
        switch event {
        case .installed(let credential):
            if self.epochs.verdict(on: credential) == .live { self.credentials[credential.account] = credential }
        case .dropped(let account), .retired(let account): self.credentials[account] = nil
        }
    }

    /// Goes by a kill log from now on, unless that is an older one.
    package mutating func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        self.credentials = self.credentials.filter { self.epochs.verdict(on: $0.value) == .live }
    }

    package subscript(account: AccountID) -> UpstreamCredential? { self.credentials[account] }
}
