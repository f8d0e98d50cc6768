package import TokenModel

/// The sessions of administrators who have signed in to the dashboard, in the memory of this process alone.
///
/// A session is two random texts that no other knows: an *id*, which travels in a cookie, and a *key*, which the page
/// keeps and sends itself. A browser sends the cookie to every port of a host, and a page on another port could send it
/// on; what the page keeps belongs to its port alone. So one without the other opens nothing.
package struct SessionStore: Sendable {
    /// What a browser is given when somebody signs in.
    package struct Ticket: Equatable, Sendable {
        package let id: Secret
        package let key: Secret

        package init(id: Secret, key: Secret) {
            self.id = id
            self.key = key
        }

        /// 256 random bits each.
        package static func random() -> Ticket { Ticket(id: .randomText(), key: .randomText()) }
    }

    private struct Session {
        let ticket: Ticket
        let administrator: Administrator
        let begunAt: BootInstant
        var usedAt: BootInstant
    }

    private let limits: SessionLimits
    private var sessions: [Session] = []

    package init(_ limits: SessionLimits) {
        self.limits = limits
    }

    /// How many there are, those whose time is over among them.
    package var count: Int { self.sessions.count }

    /// Which time it is between two ends of all sessions.
    package private(set) var era: UInt64 = 0

    /// Begins a session. Where there is no room for one more, that which was not used for longest ends.
    ///
    /// - Parameters:
    ///   - administrator: who has signed in.
    ///   - era: that in which it was decided that it may begin; `nil` for now.
    /// - Returns: `false`, and it does not begin, where all sessions were ended since: it would be one of them.
    @discardableResult
    package mutating func begin(
        _ ticket: Ticket,
        for administrator: Administrator,
        in era: UInt64? = nil,
        at now: BootInstant
    ) -> Bool {
        guard (era ?? self.era) == self.era else { return false }
        self.dropEnded(at: now)
        if self.sessions.count >= self.limits.count,
            let idlest = self.sessions.indices.min(by: { self.sessions[$0].usedAt < self.sessions[$1].usedAt })
        {
            self.sessions.remove(at: idlest)
        }
        self.sessions.append(Session(ticket: ticket, administrator: administrator, begunAt: now, usedAt: now))
        return true
    }

    /// Whose session `ticket` is of, whose idle time begins anew then; `nil` for one that has ended or never was.
    package mutating func administrator(presenting ticket: Ticket, at now: BootInstant) -> Administrator? {
        self.dropEnded(at: now)
        guard let index = self.index(of: ticket) else { return nil }
        self.sessions[index].usedAt = now
        return self.sessions[index].administrator
    }

    /// Ends a session; one that is not there has ended.
    package mutating func end(_ ticket: Ticket) {
        if let index = self.index(of: ticket) { self.sessions.remove(at: index) }
    }

    /// Ends all sessions, also those that are about to begin.
    package mutating func endAll() {
        self.sessions = []
        self.era += 1
    }

    /// Looks at all of them, so that the time it takes tells nothing of which.
    private func index(of ticket: Ticket) -> Int? {
        var found: Int?
        for index in self.sessions.indices {
            let isID = self.sessions[index].ticket.id == ticket.id
            let isKey = self.sessions[index].ticket.key == ticket.key
            if isID && isKey { found = index }
        }
        return found
    }

    private mutating func dropEnded(at now: BootInstant) {
        let limits = self.limits
        self.sessions.removeAll { session in
            session.usedAt.duration(to: now) >= limits.idleTime || session.begunAt.duration(to: now) >= limits.time
        }
    }
}

extension Secret {
    fileprivate static func randomText() -> Secret {
        var generator = SystemRandomNumberGenerator()
        return Secret(Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }
}

/// How many operators may be signed in to the dashboard, and for how long.
package struct SessionLimits: Equatable, Sendable {
    /// Sessions at once; one more ends another.
    package var count: Int
    /// How long a session lasts without a request. An open page asks every few seconds, so this is for those that were
    /// closed, and machines that sleep.
    package var idleTime: Duration
    /// How long a session lasts at most.
    package var time: Duration

    package init(count: Int = 32, idleTime: Duration = .seconds(30 * 60), time: Duration = .seconds(12 * 60 * 60)) {
        self.count = count
        self.idleTime = idleTime
        self.time = time
    }
}

/// A session that has begun.
struct SessionResponse: Encodable, Sendable {
    /// What the page keeps, and sends as `Martlet-Session`.
    let key: String
    /// Who has signed in, as the page shows it.
    let name: String
    /// By which the page shows what they may do.
    let role: String

    init(_ ticket: SessionStore.Ticket, _ administrator: Administrator) {
        self.key = ticket.key.unredactedText
        self.name = administrator.name
        self.role = administrator.role.rawValue
    }
}

/// A session that has ended.
struct SessionEndResponse: Encodable, Sendable {
    let signedOut = true

    private enum CodingKeys: String, CodingKey { case signedOut = "signed_out" }
}
