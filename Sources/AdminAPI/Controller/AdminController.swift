internal import Audit
internal import HTTPTypes
internal import HummingbirdCore
internal import KillSwitch
internal import Logging
internal import NIOCore
internal import Synchronization
internal import SystemSupport
internal import TokenModel
internal import TokenRefresh

/// Handles the requests of operators, one at a time per connection.
final class AdminController: RequestResponder {
    /// What operators act on; locked on a listener where nothing can be seen or changed.
    private let gateway: CurrentGateway
    /// Locks and unlocks it; `nil` if nothing does.
    let locking: (any GatewayLocking)?
    private let monitor: any GatewayMonitor
    /// Authenticates operators; `nil` on a listener that requires no tokens, where little can be seen.
    let door: AdminAuthenticator?
    /// Present if there is a ``door``.
    let dashboard: Dashboard?
    let limits: AdminLimits
    private let timepiece: Timepiece
    let logger: Logger
    let requiresOriginForm = false
    private let oversteps: OverstepLog
    /// How many bulk imports are in progress.
    private let bulkImports = Mutex(0)
    /// Each may take as long as its client likes, and holds a connection and a few megabytes.
    private static let mostBulkImports = 4

    init(
        gateway: CurrentGateway,
        lock: (any GatewayLocking)? = nil,
        monitor: any GatewayMonitor,
        door: AdminAuthenticator?,
        isEncrypted: Bool = false,
        limits: AdminLimits,
        timepiece: Timepiece = .system,
        logger: Logger
    ) {
        self.gateway = gateway
        self.locking = lock
        self.timepiece = timepiece
        self.monitor = monitor
        self.door = door
        self.dashboard = door.map {
            Dashboard($0, isEncrypted: isEncrypted, limits: limits, timepiece: timepiece, logger: logger)
        }
        self.limits = limits
        self.logger = logger
        self.oversteps = OverstepLog(logger)
    }

    /// Reads one request and writes its response.
    ///
    /// - Parameter recognized: called before the response when an administrator is known to have sent the request.
    /// - Throws: if the connection must end.
    @concurrent
    func respond(
        to request: Request,
        with writer: consuming ResponseWriter,
        on connection: any Channel,
        recognized: @Sendable () -> Void
    ) async throws {
        var body = RequestBodyReader(request, on: connection)
        let answer: Answer
        var isTurnedAway = false
        var asked: (administrator: Administrator, route: AdminRoute)?
        let doorway = try await RequestOrigin(connection)
        let peer = doorway.peer.map { "unix socket, uid \($0.user)" } ?? PeerAddress.text(of: connection)
        do {
            if doorway == .network, let shown = try await self.dashboard?.respond(request, &body) {
                answer = .whole(shown)
            } else {
                let (route, administrator) = try await self.admit(request, at: doorway)
                if let administrator {
                    recognized()
                    asked = (administrator, route)
                    guard administrator.role.permits(route.deed(request.method)) else {
                        throw AdminError.roleForbidden(administrator)
                    }
                }
                if let account = route.account { try administrator.requireRight(to: account) }
                if request.headers[.expect]?.lowercased() == "100-continue" {
                    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                }
                let actor = AuditActor.admin(administrator?.name, at: peer)
                answer = try await self.respond(request.method, route, &body, to: administrator, actor)
            }
        } catch let error as AdminError {
            // A request without a token is no attempt to guess one.
            if error.isRefusal, Dashboard.presentsToken(request) {
                if let gateway = self.gateway.open {
                    gateway.audit.refusedToken(from: peer)
                } else {
                    await self.locking?.refusedToken(from: peer)
                }
            }
            if error.code == .roleForbidden, let asked {
                self.oversteps.report(asked.administrator, request.method, asked.route)
            }
            self.logger.debug("an admin request was refused", metadata: [LogField.code: "\(error.code.rawValue)"])
            answer = .whole(error.respond)
            isTurnedAway = error.code == .unauthorized || error.code == .tooManyAttempts
        }
        switch answer {
        case .whole(let response): try await response.write(to: writer, isHead: request.method == .head)
        case .bulkImport(let bulk):
            defer { self.bulkImports.withLock { $0 -= 1 } }
            try await bulk.respond(to: body.takeStream(), with: writer)
        }
        try await body.discardRest()
        // The connection ends. So each guess of a token needs a new connection and has to get a place among all
        // others.
        if isTurnedAway { throw TurnedAway() }
    }

    /// What is sent in response to a request.
    private enum Answer {
        case whole(AdminResponse)
        /// It is written while the request is still being read.
        case bulkImport(BulkImport)
    }

    /// Ends a connection after its response.
    private struct TurnedAway: Error {}

    /// How a request reached the gateway.
    private enum RequestOrigin: Equatable {
        case network
        /// - Parameter peer: `nil` if the kernel does not report it.
        case socket(peer: PeerIdentity?)

        init(_ connection: any Channel) async throws {
            guard case .unixDomainSocket = connection.localAddress else {
                self = .network
                return
            }
            self = .socket(peer: try await connection.peerIdentity().get())
        }

        var peer: PeerIdentity? {
            if case .socket(let peer) = self { peer } else { nil }
        }
    }

    /// Names the responding gateway, for operators who have several.
    private var signatureField: HTTPFields {
        var fields: HTTPFields = [:]
        fields["Martlet-Gateway"] =
            "\(self.gateway.name) \(self.gateway.open?.kills.incarnation.rawValue.prefix(8) ?? "locked")"
        return fields
    }

    /// The administrator who sends the request. On the socket, a user whom the kernel identifies needs no token, but a
    /// token that is sent takes precedence.
    private func administrator(
        sending request: Request,
        at doorway: RequestOrigin,
        _ dashboard: Dashboard
    ) async throws(AdminError) -> Administrator {
        guard case .socket(let peer) = doorway else { return try await dashboard.admit(request.head) }
        let authorization = request.headers[.authorization]
        if authorization == nil, let administrator = Administrator(peer) { return administrator }
        return try await dashboard.door.admit(authorization)
    }

    /// The route of the request, and the administrator who sends it; `nil` for the administrator if the route needs
    /// none.
    private func admit(_ request: Request, at doorway: RequestOrigin) async throws(AdminError) -> (
        AdminRoute, Administrator?
    ) {
        let route = AdminRoute(path: request.uri.path)
        var administrator: Administrator?
        if let dashboard = self.dashboard {
            if route?.isOpen != true {
                administrator = try await self.administrator(sending: request, at: doorway, dashboard)
            }
        } else if route?.isServedWithoutTokens != true {
            throw .noSuchPath
        }
        guard let route else { throw .noSuchPath }
        guard route.methods.contains(request.method) else {
            throw .methodNotAllowed(route.methods.map(\.rawValue).joined(separator: ", "))
        }
        return (try route.with(request.uri.query), administrator)
    }

    @concurrent
    private func respond(
        _ method: HTTPRequest.Method,
        _ route: AdminRoute,
        _ body: inout RequestBodyReader,
        to administrator: Administrator?,
        _ actor: AuditActor
    ) async throws -> Answer {
        if case .imports(let existing) = route {
            guard self.gateway.open != nil else { throw AdminError.locked }
            let hasPlace = self.bulkImports.withLock { count in
                guard count < Self.mostBulkImports else { return false }
                count += 1
                return true
            }
            guard hasPlace else { throw AdminError.tooManyImports(Self.mostBulkImports) }
            return .bulkImport(
                BulkImport(
                    gateway: self.gateway,
                    door: self.door,
                    existing: existing,
                    administrator: administrator,
                    actor: actor,
                    patience: self.limits.bodyTime,
                    reportOverstep: { if let administrator { self.oversteps.report(administrator, method, route) } },
                    fields: self.door == nil ? [:] : self.signatureField
                )
            )
        }
        var response = try await self.response(method, route, &body, to: administrator, actor)
        if self.door != nil, !route.isOpen { response.fields.append(contentsOf: self.signatureField) }
        return .whole(response)
    }

    @concurrent
    private func response(
        _ method: HTTPRequest.Method,
        _ route: AdminRoute,
        _ body: inout RequestBodyReader,
        to administrator: Administrator?,
        _ actor: AuditActor
    ) async throws -> AdminResponse {
        switch route {
        case .health:
            return AdminResponse(.ok, HealthResponse())
        case .readiness:
            let vitals = await self.monitor.vitals()
            let readiness = ReadinessResponse(vitals, isLocked: self.closedLock != nil)
            return AdminResponse(readiness.ready ? .ok : .serviceUnavailable, readiness)
        case .metrics:
            let metrics = await self.monitor.metrics()
            return AdminResponse(.ok, text: metrics.text, contentType: metrics.contentType)
        case .description:
            return AdminResponse(
                .ok,
                bytes: APIDescription.bytes,
                contentType: APIDescription.contentType,
                fields: [:]
            )
        case .history:
            return AdminResponse(.ok, HistoryResponse(await self.monitor.history()))
        case .lock where method == .post:
            let order = try LockOrder(try await self.read(&body))
            return AdminResponse(.ok, LockResponse(try await self.lock(order, by: actor)))
        case .lock:
            return AdminResponse(.ok, LockResponse(try self.lockStatus()))
        case .unlock:
            let request = try UnlockRequest(try await self.read(&body))
            return AdminResponse(.ok, LockResponse(try await self.unlock(request, by: actor)))
        case .status where self.gateway.open == nil:
            let lock = self.closedLock ?? LockStatus(.locked)
            return AdminResponse(
                .ok,
                StatusResponse(await self.monitor.vitals(), lock: lock, at: self.timepiece.now.wall)
            )
        case .killing where self.gateway.open == nil:
            let request = try KillRequest(try await self.read(&body))
            let report = try await self.killWhileLocked(request, by: actor)
            return AdminResponse(.ok, KillResponse(report, isAudited: false))
        default:
            guard let gateway = self.gateway.open else { throw AdminError.locked }
            return try await self.response(method, route, &body, to: administrator, actor, on: gateway)
        }
    }

    /// The part of the response that needs an open gateway.
    @concurrent
    private func response(
        _ method: HTTPRequest.Method,
        _ route: AdminRoute,
        _ body: inout RequestBodyReader,
        to administrator: Administrator?,
        _ actor: AuditActor,
        on gateway: OpenGateway
    ) async throws -> AdminResponse {
        switch route {
        case .status:
            let vitals = await self.monitor.vitals()
            let accounts = await gateway.engine.overview()
            return AdminResponse(
                .ok,
                StatusResponse(
                    vitals,
                    gateway.engine.providerStatuses,
                    accounts,
                    killed: gateway.kills.killedScopes,
                    waiting: gateway.kills.waitingScopes,
                    lease: gateway.kills.leaseReading,
                    lock: self.closedLock,
                    approvals: gateway.approvalStandings()
                )
            )
        case .accounts(let query):
            let page = await gateway.engine.accounts(query.filter, after: query.after, limit: query.limit)
            return AdminResponse(.ok, AccountsResponse(page))
        case .account(let account):
            return AdminResponse(.ok, AccountResponse(try await gateway.status(of: account)))
        case .accountWithUnrevoked(let account):
            let status = try await gateway.status(of: account)
            return AdminResponse(.ok, ShownAccountResponse(status, unrevoked: try await gateway.unrevoked(of: account)))
        case .tokens(let account) where method == .put:
            let tokens = try TokenImport(try await self.read(&body))
            try self.door.checkForAdminTokens(in: tokens)
            return AdminResponse(.ok, AccountResponse(try await gateway.importTokens(tokens, for: account, by: actor)))
        case .tokens(let account):
            try await self.expectNothing(in: &body)
            let (status, tokens) = try await gateway.forgetTokens(of: account, by: actor)
            return AdminResponse(.ok, ForgottenResponse(status, tokens))
        case .refresh(let account):
            try await self.expectNothing(in: &body)
            return AdminResponse(.ok, AccountResponse(try await gateway.refresh(account, by: actor)))
        case .adoption(let account):
            try await self.expectNothing(in: &body)
            return AdminResponse(.ok, AccountResponse(try await gateway.adopt(account, by: actor)))
        case .signIns:
            let request = try SignInRequest(try await self.read(&body))
            try administrator.requireRight(to: request.account)
            return AdminResponse(.ok, SignInResponse(try await gateway.beginSignIn(request, by: actor)))
        case .signIn(let id) where method == .post:
            try await gateway.requireRight(of: administrator, to: id)
            let answer = try SignInAnswer(try await self.read(&body))
            return AdminResponse(.ok, SignInResponse(try await gateway.answer(id, answer)))
        case .signIn(let id) where method == .delete:
            try await gateway.requireRight(of: administrator, to: id)
            try await self.expectNothing(in: &body)
            return AdminResponse(.ok, SignInResponse(try await gateway.cancelSignIn(id, by: actor)))
        case .signIn(let id):
            try await gateway.requireRight(of: administrator, to: id)
            return AdminResponse(.ok, SignInResponse(try await gateway.signIn(id)))
        case .killing:
            let request = try KillRequest(try await self.read(&body))
            let (report, isAudited) = try await gateway.kill(request, by: actor)
            return AdminResponse(.ok, KillResponse(report, isAudited: isAudited))
        case .revival:
            let request = try RevivalRequest(try await self.read(&body))
            return AdminResponse(.ok, try await gateway.revive(request, by: actor))
        case .kills:
            return AdminResponse(.ok, KillsResponse(await gateway.kills.listing()))
        case .kill(let id):
            return AdminResponse(.ok, KillResponse(try await gateway.killReport(id)))
        case .killedTokens(let id, let query):
            return AdminResponse(.ok, try await gateway.killedTokens(id, query))
        case .replicas:
            return AdminResponse(.ok, ReplicasResponse(try await gateway.replicas(), this: gateway.kills.incarnation))
        case .replica(let name):
            try await self.expectNothing(in: &body)
            return AdminResponse(.ok, ForgottenReplicaResponse(try await gateway.forgetReplica(name, by: actor)))
        case .audit(let query):
            return AdminResponse(.ok, try await gateway.auditPage(query))
        case .caches:
            return AdminResponse(.ok, CachesResponse(await gateway.cacheVitals()))
        case .cachePurge:
            let request = try CachePurgeRequest(try await self.read(&body))
            return AdminResponse(.ok, PurgedResponse(try await gateway.purge(request, by: actor)))
        case .approvals where method == .post:
            let request = try ApprovalRequest(try await self.read(&body))
            let until = try await gateway.approve(request.account, by: actor)
            return AdminResponse(.ok, ApprovedResponse(request.account, until: until))
        case .approvals:
            return AdminResponse(.ok, ApprovalsResponse(gateway.approvalStandings()))
        case .health, .readiness, .metrics, .description, .history, .imports, .lock, .unlock:
            throw AdminError.noSuchPath
        }
    }

    @concurrent
    private func read(_ body: inout RequestBodyReader) async throws -> [UInt8] {
        try await body.read(limit: self.limits.body, within: self.limits.bodyTime)
    }

    /// Requires the body to be empty, or an empty JSON object.
    @concurrent
    private func expectNothing(in body: inout RequestBodyReader) async throws {
        let bytes = try await self.read(&body)
        guard !bytes.isEmpty else { return }
        try JSONFields(bytes).finish(expected: [])
    }
}
