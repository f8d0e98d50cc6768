internal import TextCoding
package import TokenModel

/// The sessions of administrators who have signed in to the dashboard. They exist only in the memory of this process.
///
/// A session is two random secret texts: an *id*, which travels in a cookie, and a *key*, which the page stores and
/// sends itself. A browser sends the cookie to every port of a host, so a page on another port could forward it. The
/// page's storage belongs to its own port only. So neither text is of use without the other.
package struct SessionStore: Sendable {
    /// What a browser receives when somebody signs in.
    package struct Ticket: Equatable, Sendable {
        package let id: Secret
        package let key: Secret

        package init(id: Secret, key: Secret) {
            self.id = id
            self.key = key
        }

        /// A ticket whose id and key have 256 random bits each.
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

    /// The number of sessions, including expired ones.
    package var count: Int { self.sessions.count }

    /// The number of times that all sessions were ended.
    package private(set) var era: UInt64 = 0

    /// Begins a session. If the maximum number of sessions is reached, the one unused for longest ends.
    ///
    /// - Parameters:
    ///   - administrator: who has signed in.
    ///   - era: the ``era`` in which the sign-in was authenticated; `nil` for the current one.
    /// - Returns: `false` if all sessions were ended since that era; then the session does not begin.
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

    /// The administrator of the session of `ticket`; `nil` if that has ended or never existed. The session's idle time
    /// starts again.
    package mutating func administrator(presenting ticket: Ticket, at now: BootInstant) -> Administrator? {
        self.dropEnded(at: now)
        guard let index = self.index(of: ticket) else { return nil }
        self.sessions[index].usedAt = now
        return self.sessions[index].administrator
    }

    /// Ends a session. An unknown session has ended already.
    package mutating func end(_ ticket: Ticket) {
        if let index = self.index(of: ticket) { self.sessions.remove(at: index) }
    }

    /// Ends all sessions, including those whose sign-in is in progress.
    package mutating func endAll() {
        self.sessions = []
        self.era += 1
    }

    /// Compares all sessions, so that the time taken does not reveal which one matches.
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
        return Secret(Base64.encodeURLSafe((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }
}

/// How many operators may be signed in to the dashboard, and for how long.
package struct SessionLimits: Equatable, Sendable {
    /// The maximum number of sessions; default 32. A further session ends another one.
    package var count: Int
    /// How long a session lasts without a request; default 30 min. An open page sends one every few seconds, so this
    /// limit is for closed pages and for machines that sleep.
    package var idleTime: Duration
    /// How long a session lasts at most; default 12 h.
    package var time: Duration

    package init(count: Int = 32, idleTime: Duration = .seconds(30 * 60), time: Duration = .seconds(12 * 60 * 60)) {
        self.count = count
        self.idleTime = idleTime
        self.time = time
    }
}

/// The response to a sign-in.
struct SessionResponse: Encodable, Sendable {
    /// The key that the page stores and sends as `Martlet-Session`.
    let key: String
    /// The administrator's name, for display.
    let name: String
    /// The administrator's role. The page uses it to show what they may do.
    let role: String

    init(_ ticket: SessionStore.Ticket, _ administrator: Administrator) {
        self.key = ticket.key.unredactedText
        self.name = administrator.name
        self.role = administrator.role.word
    }
}

/// The response to a sign-out.
struct SessionEndResponse: Encodable, Sendable {
    let signedOut = true

    private enum CodingKeys: String, CodingKey { case signedOut = "signed_out" }
}
