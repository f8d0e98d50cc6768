internal import Audit
internal import HTTPTypes
internal import HummingbirdCore
internal import KillSwitch
internal import Logging
internal import NIOCore
internal import TokenModel
internal import TokenRefresh

/// Answers the requests of operators, one at a time per connection.
final class AdminDesk: Sendable {
    let engine: RefreshEngine
    let kills: KillSwitch
    /// Where changes are recorded; `nil` where there are none.
    let audit: AuditTrail?
    let monitor: any GatewayMonitor
    /// Lets operators in; `nil` where no tokens are asked for, and there is little to see.
    let door: AdminDoor?
    /// Where there is a door.
    let dashboard: Dashboard?
    let limits: AdminLimits
    private let logger: Logger

    init(
        engine: RefreshEngine,
        kills: KillSwitch,
        audit: AuditTrail?,
        monitor: any GatewayMonitor,
        door: AdminDoor?,
        limits: AdminLimits,
        timepiece: Timepiece = .system,
        logger: Logger
    ) {
        self.engine = engine
        self.kills = kills
        self.audit = audit
        self.monitor = monitor
        self.door = door
        self.dashboard = door.map { Dashboard($0, limits: limits, timepiece: timepiece, logger: logger) }
        self.limits = limits
        self.logger = logger
    }

    /// Reads one request and writes its answer.
    ///
    /// - Throws: where the connection has to end.
    @concurrent
    func respond(
        to request: Request,
        with writer: consuming ResponseWriter,
        on connection: any Channel
    ) async throws {
        var body = RequestBodyReader(request, on: connection)
        let answer: AdminAnswer
        var isTurnedAway = false
        let peer = PeerAddress.text(of: connection)
        do {
            if let shown = try await self.dashboard?.answer(request, &body) {
                answer = shown
            } else {
                let route = try await self.admit(request)
                if request.headers[.expect]?.lowercased() == "100-continue" {
                    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                }
                answer = try await self.answer(request.method, route, &body, to: .admin(at: peer))
            }
        } catch let error as AdminError {
            // Who brings none tries nothing out.
            if error.isRefusal, Dashboard.presentsToken(request) { self.audit?.refusedToken(from: peer) }
            self.logger.debug("an admin request was refused", metadata: [LogField.code: "\(error.code.rawValue)"])
            answer = error.answer
            isTurnedAway = error.code == .unauthorized || error.code == .tooManyAttempts
        }
        try await answer.write(to: writer, isHead: request.method == .head)
        try await body.discardRest()
        // Those who try tokens out stand in line with all others for each of them: there are only so many connections.
        if isTurnedAway { throw TurnedAway() }
    }

    /// Ends a connection whose request was answered.
    private struct TurnedAway: Error {}

    /// What the request is about, if its sender may ask that.
    private func admit(_ request: Request) async throws(AdminError) -> AdminRoute {
        let route = AdminRoute(path: request.uri.path)
        if let dashboard = self.dashboard {
            if route?.isOpen != true { try await dashboard.admit(request.head) }
        } else if route?.isServedWithoutTokens != true {
            throw .noSuchPath
        }
        guard let route else { throw .noSuchPath }
        guard route.methods.contains(request.method) else {
            throw .methodNotAllowed(route.methods.map(\.rawValue).joined(separator: ", "))
        }
        return try route.with(request.uri.query)
    }

    @concurrent
    private func answer(
        _ method: HTTPRequest.Method,
        _ route: AdminRoute,
        _ body: inout RequestBodyReader,
        to actor: AuditActor
    ) async throws -> AdminAnswer {
        switch route {
        case .health:
            return AdminAnswer(.ok, HealthAnswer())
        case .readiness:
            let vitals = await self.monitor.vitals()
            return AdminAnswer(vitals.isReady ? .ok : .serviceUnavailable, ReadinessAnswer(vitals))
        case .metrics:
            let metrics = await self.monitor.metrics()
            return AdminAnswer(.ok, text: metrics.text, contentType: metrics.contentType)
        case .status:
            let vitals = await self.monitor.vitals()
            let accounts = await self.engine.statuses()
            return AdminAnswer(
                .ok,
                StatusAnswer(
                    vitals,
                    self.engine.providerStatuses,
                    accounts,
                    killed: self.kills.killedScopes,
                    waiting: self.kills.waitingScopes,
                    lease: self.kills.leaseReading
                )
            )
        case .accounts:
            return AdminAnswer(.ok, AccountsAnswer(accounts: await self.engine.statuses().map(AccountAnswer.init)))
        case .account(let account):
            return AdminAnswer(.ok, AccountAnswer(try await self.status(of: account)))
        case .accountWithUnrevoked(let account):
            let status = try await self.status(of: account)
            return AdminAnswer(.ok, ShownAccountAnswer(status, unrevoked: try await self.unrevoked(of: account)))
        case .tokens(let account) where method == .put:
            let tokens = try TokenImport(try await self.read(&body))
            return AdminAnswer(.ok, AccountAnswer(try await self.importTokens(tokens, for: account, by: actor)))
        case .tokens(let account):
            try await self.expectNothing(in: &body)
            let (status, tokens) = try await self.forgetTokens(of: account, by: actor)
            return AdminAnswer(.ok, ForgottenAnswer(status, tokens))
        case .refresh(let account):
            try await self.expectNothing(in: &body)
            return AdminAnswer(.ok, AccountAnswer(try await self.refresh(account, by: actor)))
        case .adoption(let account):
            try await self.expectNothing(in: &body)
            return AdminAnswer(.ok, AccountAnswer(try await self.adopt(account, by: actor)))
        case .killing:
            let request = try KillRequest(try await self.read(&body))
            let (report, isAudited) = try await self.kill(request, by: actor)
            return AdminAnswer(.ok, KillAnswer(report, isAudited: isAudited))
        case .revival:
            let request = try RevivalRequest(try await self.read(&body))
            return AdminAnswer(.ok, try await self.revive(request, by: actor))
        case .kills:
            return AdminAnswer(.ok, KillsAnswer(await self.kills.listing()))
        case .kill(let id):
            return AdminAnswer(.ok, KillAnswer(try await self.killReport(id)))
        case .killedTokens(let id):
            return AdminAnswer(.ok, KilledTokensAnswer(try await self.killedTokens(id)))
        case .replicas:
            return AdminAnswer(.ok, ReplicasAnswer(try await self.replicas(), this: self.kills.boot))
        case .replica(let name):
            try await self.expectNothing(in: &body)
            return AdminAnswer(.ok, ForgottenReplicaAnswer(try await self.forgetReplica(name, by: actor)))
        case .audit(let query):
            return AdminAnswer(.ok, try await self.auditPage(query))
        }
    }

    @concurrent
    private func read(_ body: inout RequestBodyReader) async throws -> [UInt8] {
        try await body.read(limit: self.limits.body, within: self.limits.bodyTime)
    }

    /// Nothing, or an object of nothing.
    @concurrent
    private func expectNothing(in body: inout RequestBodyReader) async throws {
        let bytes = try await self.read(&body)
        guard !bytes.isEmpty else { return }
        try JSONFields(bytes).finish(expected: [])
    }
}
