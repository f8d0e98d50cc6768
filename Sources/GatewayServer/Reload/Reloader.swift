internal import AdminAPI
internal import Approvals
internal import Audit
internal import Logging
internal import Proxy
internal import Settings
internal import Synchronization
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Reads the configuration again while the gateway runs. Everything that may fail comes first and all changes come
/// after it, so that a bad file or certificate changes nothing.
package final class Reloader: Sendable {
    /// The path of the configuration.
    private let path: String
    /// The settings at start. Parts that only a restart can change are compared with them.
    private let started: GatewaySettings
    private let origins: Mutex<AccountOrigins>
    private let gateway: RunningGateway
    private let threshold: LogThreshold

    private var front: GatewayFront { self.gateway.front }
    private var logger: Logger { self.front.logger }

    /// - Parameter gateway: was built from the settings that it follows now.
    init(path: String, gateway: RunningGateway, threshold: LogThreshold) {
        self.path = path
        self.started = gateway.front.settings
        self.origins = Mutex(AccountOrigins(gateway.front.settings))
        self.gateway = gateway
        self.threshold = threshold
    }

    /// Everything that a reload will apply, read and checked.
    private struct Prepared {
        let settings: GatewaySettings
        /// The providers of these settings; `nil` while the gateway is locked.
        let providers: ProviderRegistry?
        let budget: DescriptorBudget
        let plan: ProxyConfiguration
        /// The admin listener's new certificate.
        let encryption: CallerTLS?
        /// That of the listener for sign-ins.
        let loginEncryption: CallerTLS?
        /// `nil` if the file's path has changed, which takes effect at the next start.
        let tokens: AdminTokens?
    }

    /// Why nothing is applied.
    private struct Refusal: Error {
        let changes: ReloadOutcome
        let reasons: [String]
    }

    /// Calls must not overlap.
    package func reload() async {
        let (running, part) = (self.front.settings, self.front.part)
        do throws(Refusal) {
            let prepared = try await self.prepare(following: running, part)
            let ticket = try await self.announce(to: part?.audit)
            let changes = await self.commit(prepared, following: running, part)
            let needs = RestartNeeds(from: self.started, to: prepared.settings)
            if let ticket {
                await part?.audit.end(ticket, "done", detail: needs.outcome(changes))
            } else {
                let cause = AuditActor.gateway("SIGHUP")
                let note = AuditNote(action: .reload, outcome: "done", detail: needs.outcome(changes), by: cause)
                await self.gateway.lock.add(note)
            }
            let level = Logger.Level(prepared.settings.log.level)
            self.front.status.followed(waiting: needs.parts)
            // The change is logged if either the old or the new level allows it.
            self.threshold.level = min(self.threshold.level, level)
            self.report(prepared, following: running, changes: changes, needs: needs)
            self.threshold.level = level
            self.front.follow(prepared.settings.followed(since: self.started))
            self.origins.withLock { $0.add(prepared.settings) }
        } catch {
            self.front.status.refused(error.changes, error.reasons, at: Timepiece.system.now.wall)
            for reason in error.reasons {
                self.logger.error(
                    "the configuration was not read again, nothing has changed",
                    metadata: ["config.code": "\(error.changes.rawValue)", "config.finding": "\(reason)"]
                )
            }
        }
    }
}

// MARK: - What may fail

extension Reloader {
    private func prepare(
        following running: GatewaySettings,
        _ part: OpenPart?
    ) async throws(Refusal) -> Prepared {
        let settings: GatewaySettings
        do throws(SettingsError) {
            settings = try SettingsFile.load(path: self.path)
        } catch {
            throw Refusal(changes: .invalid, reasons: error.faults.map(\.description))
        }
        try self.checkCallers(settings, following: running)
        try self.checkOrigins(settings)
        let budget = self.front.room.budget(wanted: settings.limits.connections)
        let plan: ProxyConfiguration
        let (encryption, loginEncryption): (CallerTLS?, CallerTLS?)
        do throws(StartError) {
            (encryption, loginEncryption) = (try CallerTLS(settings.admin), try CallerTLS(settings.login))
            plan = try ProxyConfiguration(
                settings,
                connections: budget.connections,
                eventLoops: EventLoopCount.standard
            )
        } catch {
            throw Refusal(changes: .certificateUnusable, reasons: [error.message])
        }
        let tokens = try self.adminTokens(settings)
        return Prepared(
            settings: settings,
            providers: try await self.providers(of: settings, part),
            budget: budget,
            plan: plan,
            encryption: encryption,
            loginEncryption: loginEncryption,
            tokens: tokens
        )
    }

    /// The providers of `settings`; `nil` while the gateway is locked, when they are only checked.
    private func providers(of settings: GatewaySettings, _ part: OpenPart?) async throws(Refusal) -> ProviderRegistry? {
        let keeper = part?.keeper ?? EndpointKeeper()
        let checked: Result<ProviderRegistry, StartError>
        do throws(StartError) {
            checked = .success(
                try ProviderRegistry(
                    settings,
                    following: part?.providers.current,
                    keeper: keeper,
                    logger: self.logger
                )
            )
        } catch {
            checked = .failure(error)
        }
        if part == nil { await keeper.shutDown() }
        switch checked {
        case .success(let providers): return part == nil ? nil : providers
        case .failure(let error): throw Refusal(changes: .providerUnusable, reasons: [error.message])
        }
    }

    /// Checks the callers against the bound listeners. The reader has checked the file against the listeners that it
    /// names, but a reload neither changes which listeners are bound nor closes their connections.
    private func checkCallers(
        _ settings: GatewaySettings,
        following running: GatewaySettings
    ) throws(Refusal) {
        if settings.callers == nil, let route = settings.routes.first(where: { $0.match.host != nil }),
            !self.started.listeners.allSatisfy(\.isUnixSocket)
        {
            throw Refusal(
                changes: .callersNeeded,
                reasons: ["route \(route.name) can't have a host without callers while the gateway listens on TCP"]
            )
        }
        guard settings.callers == nil, running.callers != nil else { return }
        let open = self.started.listeners.map(\.address).first { address in
            if case .unix = address { true } else { address.isReachableFromOutside }
        }
        guard let open else { return }
        throw Refusal(
            changes: .callersNeeded,
            reasons: ["callers can't be left out while the gateway listens on \(open): that takes a restart"]
        )
    }

    private func checkOrigins(_ settings: GatewaySettings) throws(Refusal) {
        let moved = self.origins.withLock { $0.moved(in: settings) }
        guard !moved.isEmpty else { return }
        throw Refusal(
            changes: .accountMoved,
            reasons: moved.map {
                "account \($0) would get tokens from another issuer or endpoint: that takes a restart"
            }
        )
    }

    /// - Parameter audit: `nil` while the gateway is locked.
    private func announce(to audit: AuditTrail?) async throws(Refusal) -> AuditTicket? {
        do throws(AuditError) {
            return try await audit?.begin(.reload, by: .gateway("SIGHUP"))
        } catch {
            throw Refusal(changes: .auditUnavailable, reasons: ["\(error.message); send SIGHUP again"])
        }
    }

    private func adminTokens(_ settings: GatewaySettings) throws(Refusal) -> AdminTokens? {
        guard settings.admin.tokenFile == self.started.admin.tokenFile else { return nil }
        do throws(AdminTokenError) {
            let directory = self.started.stateDirectory
            return try AdminTokenFile(path: settings.admin.tokenFile, stateDirectory: directory).read()
        } catch {
            throw Refusal(changes: .tokensUnusable, reasons: [error.message])
        }
    }
}

// MARK: - What can't fail

extension Reloader {
    /// - Returns: the changed parts, by their names in the file.
    private func commit(
        _ prepared: Prepared,
        following running: GatewaySettings,
        _ part: OpenPart?
    ) async -> [String] {
        let (settings, waiters) = (prepared.settings, prepared.settings.limits.waiters)
        let counting = self.front.metrics.refreshes
        counting.reload(settings.providers.map(\.id))
        let before = part?.providers.current
        if let providers = prepared.providers { part?.providers.reload(providers) }
        let plans = prepared.providers?.plans(settings.accounts, counting: counting) ?? []
        let families = prepared.providers?.families(settings.families, counting: counting) ?? []
        // New accounts exist before the first request that needs them. Removed ones stay until no request can need
        // them.
        let configured = Set(plans.map(\.account))
        let leaving = running.accounts.filter { !configured.contains($0.id) }
        let kept = Set(families.map(\.family))
        let leavingFamilies = running.families.filter { !kept.contains($0.family) }
        part?.engine.reload(
            plans + (before?.plans(leaving, counting: counting) ?? []),
            families: families + (before?.families(leavingFamilies, counting: counting) ?? []),
            waiters: waiters
        )
        part?.approvals.reload(ApprovalPolicy(running.requireApproval, or: settings.requireApproval))
        let renewal = await self.front.proxy.reload(
            prepared.plan,
            accessLog: settings.log.access ? self.front.log : nil
        )
        part?.approvals.reload(settings.requireApproval.map { ApprovalPolicy($0) })
        if !leaving.isEmpty || !leavingFamilies.isEmpty {
            part?.engine.reload(plans, families: families, waiters: waiters)
        }
        if let part { await self.renewKeys(of: part, settings.followed(since: self.started)) }
        self.front.webhook.reload(settings.webhook.map(WebhookTarget.init))
        self.front.log.format = LogFormat(settings.log.format)
        let changed = before.flatMap { before in prepared.providers?.changes(since: before) } ?? []
        var changes = ConfigurationChanges(from: running, to: settings, providers: changed).parts
        changes += renewal.listeners.map { "listener \($0)" } + renewal.routes.map { "route \($0)" }
        if let encryption = prepared.encryption, self.gateway.adminEncryption?.renew(from: encryption) == true {
            changes.append("admin certificate")
        }
        if let encryption = prepared.loginEncryption, self.gateway.loginEncryption?.renew(from: encryption) == true {
            changes.append("login certificate")
        }
        if let tokens = prepared.tokens, self.gateway.admin.replaceTokens(tokens) { changes.append("admin tokens") }
        return changes
    }

    /// Asks for the sealing key again, where a program is asked for it. If it says no, the one in use stays.
    private func renewKeys(of part: OpenPart, _ settings: GatewaySettings) async {
        do throws(KeyRingError) {
            try await DriverStore.keyOrigin(settings, createsMissing: false).renew(part.driver.keys)
        } catch {
            self.logger.warning(
                "the sealing key was asked for again and not given: the one in use stays",
                metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
            )
        }
    }

    private func report(
        _ prepared: Prepared,
        following running: GatewaySettings,
        changes: [String],
        needs: RestartNeeds
    ) {
        for warning in prepared.settings.warnings {
            self.logger.warning("the configuration should be looked at", metadata: ["config.finding": "\(warning)"])
        }
        if prepared.settings.callers == nil, running.callers != nil {
            self.logger.warning(
                "there are no callers any more: whoever can connect may use every account",
                metadata: ["config.code": "\(ReloadOutcome.callersRemoved.rawValue)"]
            )
        }
        let limits = prepared.settings.limits
        // The descriptor limit is still that of the start, so nothing new is to be reported about an unchanged number.
        if (limits.connections, limits.namesConnections)
            != (running.limits.connections, running.limits.namesConnections)
        {
            prepared.budget.report(wanted: limits.connections, isNamed: limits.namesConnections, to: self.logger)
        }
        if !needs.parts.isEmpty {
            self.logger.warning(
                "what was changed in the configuration needs a restart",
                metadata: [
                    "config.code": "\(ReloadOutcome.restartNeeded.rawValue)",
                    "config.parts": "\(needs.parts.joined(separator: ", "))",
                ]
            )
        }
        self.logger.info(
            "the configuration was read again",
            metadata: [
                "config.code": "\(ReloadOutcome.reloaded.rawValue)",
                "config.renewed": "\(needs.outcome(changes))",
            ]
        )
    }
}
