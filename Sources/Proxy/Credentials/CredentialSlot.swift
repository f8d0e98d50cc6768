package import HTTPCaching
package import NIOCore
package import TokenModel

/// One account's current credential on one event loop, with the head lines that carry its token, which are made at
/// most once per credential. It is a class for the same reason as ``Gateway``.
package final class CredentialSlot {
    /// The provider that a token belongs to, and those it belonged to before.
    private struct Owner: Equatable {
        let provider: ProviderID
        let formerProviders: [ProviderID]
    }

    package let account: AccountID
    package private(set) var credential: UpstreamCredential?
    /// The parts of the credential that each request needs, apart from it: copying the credential retains every part.
    private var token: TokenVersion?
    private var origin = TokenOrigin(observedEpoch: .start, owner: 0)
    /// The owners of all credentials that were ever here, so that ``TokenOrigin`` can name one by its index.
    private var owners: [Owner] = []
    /// The end of the token or of the approval, whichever comes first: one comparison judges both.
    private var usableUntil = BootInstant.distantPast
    /// By the index of their injection; empty where no request has needed the line yet.
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

    init(_ account: AccountID, requiresApproval: Bool) {
        self.account = account
        self.requiresApproval = requiresApproval
        self.approvedUntil = requiresApproval ? .distantPast : .distantFuture
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
    }

    /// Whether `name` is the account's.
    func isNamed(_ name: Span<UInt8>) -> Bool {
        let account = self.account.rawValue
        let own = account.utf8.span
        guard own.count == name.count else { return false }
        for index in own.indices where own[index] != name[index] { return false }
        return true
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

    /// Adopts the rule of another configuration.
    ///
    /// - Parameter end: of the account's approval, if it requires one.
    func follow(requiresApproval: Bool, approvedUntil end: BootInstant) {
        self.requiresApproval = requiresApproval
        self.approve(until: end)
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

    /// The line of the credential that `route` injects, and the token set that it carries, if the token may be written at
    /// `now` and is not `refused`.
    func line(
        of route: Route,
        at now: BootInstant,
        unless refused: TokenVersion?
    ) -> (line: ByteBuffer, token: TokenVersion, origin: TokenOrigin)? {
        guard let token = self.token, now < self.usableUntil, token != refused, let line = self.line(of: route)
        else { return nil }
        return (line, token, self.origin)
    }

    private func line(of route: Route) -> ByteBuffer? {
        if route.line < self.lines.count {
            let line = self.lines[route.line]
            if line.writerIndex > 0 { return line }
        }
        return self.prepareLine(of: route)
    }

    /// Few accounts are used on all routes, so a line is made when the first request needs it.
    private func prepareLine(of route: Route) -> ByteBuffer? {
        guard let credential else { return nil }
        while self.lines.count <= route.line { self.lines.append(ByteBuffer()) }
        let line = route.plan.injection.line(for: credential)
        self.lines[route.line] = line
        return line
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
