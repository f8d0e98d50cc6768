internal import FoundationEssentials
package import TokenModel

/// The whole state of the mock, behind one lock. The type is pure: its callers pass in the time, and each event of the
/// HTTP layer is one call.
package struct MockState: Sendable {
    /// The tokens.
    package var ledger: TokenLedger

    /// The codes of browser sign-ins.
    package var authorizationCodes = AuthorizationCodes()

    /// The codes of device sign-ins.
    package var deviceCodes = DeviceCodes()

    /// How sign-ins behave from now on.
    package var signInRules = SignInRules()

    /// Authorization requests that were pushed, by their `request_uri`. One minute is long enough for a redirect.
    package var pushedRequests = SingleUseEntries<FormBody>(lifetime: .seconds(60))

    /// Authorization requests that wait for a person's decision, by the id in the page that asks.
    package var consents = SingleUseEntries<AuthorizationParameters>(lifetime: .seconds(600))
    private var idTokens: [String] = []
    private var faults = FaultList()
    private var gauge = TokenRequestGauge()
    private var counted = MockStats()

    /// The maximum length of the list of dead uses. Further dead uses count only in `api_requests`.
    package static let listedDeadUses = 10_000

    package init(rules: TokenRules) {
        self.ledger = TokenLedger(rules: rules)
    }

    /// Replaces all fault rules.
    package mutating func replaceFaults(with rules: [FaultRule]) {
        self.faults.replace(with: rules)
    }

    /// Records the refresh token of a token request that has been read, and picks the fault that applies to the
    /// request.
    package mutating func tokenRequestArrived(
        refreshToken: String?,
        path: String
    ) -> (span: TokenRequestGauge.Span, fault: FaultRule?) {
        if let refreshToken {
            self.ledger.notePresentation(of: refreshToken)
        }
        return (self.gauge.begin(refreshToken: refreshToken), self.faults.take(for: .token, path: path))
    }

    /// Records the end of a token request. A second call for the same request has no effect.
    package mutating func tokenRequestEnded(_ span: TokenRequestGauge.Span) {
        self.gauge.end(span)
    }

    /// Counts a token request once.
    package mutating func count(_ outcome: TokenOutcome) {
        switch outcome {
        case .ok: self.counted.tokenRequests.ok += 1
        case .refused(let refusal) where refusal.code == .invalidClient: self.counted.tokenRequests.invalidClient += 1
        case .refused: self.counted.tokenRequests.invalidGrant += 1
        case .fault: self.counted.tokenRequests.fault += 1
        }
    }

    /// Counts one event of a sign-in.
    package mutating func count(_ event: WritableKeyPath<MockStats.SignIns, Int>) {
        self.counted.signIns[keyPath: event] += 1
    }

    /// Records an ID token that a client may get.
    package mutating func noteIDToken(_ token: String) {
        self.idTokens.append(token)
    }

    /// All tokens ever issued, dead or alive, whether or not a client received them.
    package var everyToken: [String] { self.ledger.everyToken + self.idTokens }

    /// Checks whether the person of a device code has approved it, under the rules in force.
    ///
    /// Throws what ``DeviceCodes/poll(_:at:)`` throws, or what the rules say of a code that is still usable.
    package mutating func pollDevice(_ deviceCode: String, at now: Moment) throws(GrantRefusal) -> ApprovedSignIn {
        self.count(\.devicePolls)
        try self.deviceCodes.requireUsable(deviceCode, at: now)
        if self.signInRules.slowDowns > 0 {
            self.signInRules.slowDowns -= 1
            throw GrantRefusal(.slowDown, "the client polls too often")
        }
        if let error = self.signInRules.error {
            throw self.signInRules.denial(error)
        }
        return try self.deviceCodes.poll(deviceCode, at: now)
    }

    /// Picks the fault that applies to a revocation request that has been read.
    package mutating func revocationArrived(path: String) -> FaultRule? {
        self.faults.take(for: .revoke, path: path)
    }

    /// Counts a revocation request once.
    package mutating func count(_ outcome: RevocationOutcome) {
        switch outcome {
        case .ok: self.counted.revocations.ok += 1
        case .unknown: self.counted.revocations.unknown += 1
        case .fault: self.counted.revocations.fault += 1
        }
    }

    /// Records the tokens of an API request whose head was read at `moment`, and whether they were dead then. Picks
    /// the fault that applies to the request.
    package mutating func apiRequestArrived(tokens: [String], path: String, at moment: Moment) -> FaultRule? {
        for token in tokens {
            guard let use = self.ledger.accessToken(token, at: moment) else { continue }
            let latest = self.counted.apiLastUse[use.account, default: 0]
            self.counted.apiLastUse[use.account] = max(latest, moment.unixSeconds)
            if use.state != .live, self.counted.deadUses.count < Self.listedDeadUses {
                self.counted.deadUses.append(
                    MockStats.DeadUse(account: use.account, state: use.state, path: path, at: moment.unixSeconds)
                )
            }
        }
        return self.faults.take(for: .api, path: path)
    }

    /// The state of an API request's tokens now. A request with several tokens counts as one with an unknown token,
    /// because a request may carry only one.
    package func evaluate(tokens: [String], at now: Moment) -> APIOutcome {
        guard let token = tokens.first else { return .noToken }
        guard tokens.count == 1, let use = self.ledger.accessToken(token, at: now) else { return .unknown }
        return switch use.state {
        case .live: .ok(account: use.account)
        case .expired: .expired
        case .revoked: .revoked
        }
    }

    /// Counts an API request once.
    package mutating func count(_ outcome: APIOutcome) {
        switch outcome {
        case .ok: self.counted.apiRequests.ok += 1
        case .noToken: self.counted.apiRequests.noToken += 1
        case .unknown: self.counted.apiRequests.unknown += 1
        case .expired: self.counted.apiRequests.expired += 1
        case .revoked: self.counted.apiRequests.revoked += 1
        case .fault: self.counted.apiRequests.fault += 1
        }
    }

    /// All counts as of `now`.
    package func stats(at now: Moment) -> MockStats {
        var stats = self.counted
        stats.tokenRequestsAtOnce.any = self.gauge.mostAtOnce
        stats.tokenRequestsAtOnce.perRefreshToken = self.gauge.mostPerRefreshToken
        stats.refreshTokenUses = self.ledger.presentations
        stats.reuseDetections = self.ledger.reuseDetections
        stats.live = self.ledger.liveTokens(at: now)
        return stats
    }
}

extension Moment {
    /// Reads both clocks.
    package static var now: Moment {
        Moment(
            boot: .now,
            wall: WallTime(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1_000))
        )
    }

    /// The instant `duration` later on both clocks.
    package func advanced(by duration: Duration) -> Moment {
        Moment(boot: self.boot.advanced(by: duration), wall: self.wall.advanced(by: duration))
    }

    /// The time from this moment to `other`. A jump of the wall clock does not change it.
    package func duration(to other: Moment) -> Duration { self.boot.duration(to: other.boot) }

    /// Seconds since 1970 with milliseconds, the unit of the statistics.
    package var unixSeconds: Double { Double(self.wall.millisecondsSince1970) / 1_000 }
}
