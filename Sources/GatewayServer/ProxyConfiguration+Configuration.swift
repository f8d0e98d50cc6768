internal import HTTPCaching
internal import HTTPWire
internal import Proxy
internal import Settings
internal import TokenModel

extension ProxyConfiguration {
    /// The data path's configuration of listeners, routes and limits.
    ///
    /// - Parameter connections: the maximum number of concurrent caller connections, which may be less than configured
    ///   if the process can't open as many.
    init(_ settings: GatewaySettings, connections: Int, eventLoops: Int) throws(StartError) {
        var made: [UpstreamTLS] = []
        var routes: [RouteConfiguration] = []
        for route in settings.routes { routes.append(try RouteConfiguration(route, of: settings, &made)) }
        var listeners: [Listener] = []
        for listener in settings.listeners { listeners.append(try Listener(listener)) }
        self.init(
            listeners: listeners,
            routes: routes,
            callers: settings.callers.map { $0.map(CallerConfiguration.init) },
            headLimits: HeadLimits(
                head: settings.limits.head,
                field: settings.limits.field,
                fields: settings.limits.fields,
                target: settings.limits.target
            ),
            callerTimeouts: CallerTimeouts(
                head: settings.limits.headerTimeout,
                idle: settings.limits.idleTimeout,
                handshake: settings.limits.handshakeTimeout,
                bodyRate: settings.limits.bodyRate
            ),
            connections: connections,
            connectionsPerAddress: settings.limits.connectionsPerAddress,
            replayMemory: settings.limits.replayMemory,
            headMemory: settings.limits.headMemory,
            waiters: settings.limits.waiters,
            approval: settings.requireApproval.map { ApprovalRule(wait: $0.wait, applies: $0.applies) },
            eventLoops: eventLoops
        )
    }
}

extension ProxyConfiguration.Listener {
    fileprivate init(_ listener: ListenerSettings) throws(StartError) {
        var tls: CallerTLS?
        if let settings = listener.tls {
            do throws(ProxyError) {
                tls = try CallerTLS(
                    CertificateFiles(settings.identity),
                    clientAuthorities: settings.clientAuthorities
                )
            } catch {
                throw StartError(.badConfiguration, "listener \(listener.address): \(error.message)")
            }
        }
        self.init(ProxyConfiguration.Address(listener.address), tls: tls)
    }
}

extension CallerTLS {
    /// The TLS settings of the admin listener; `nil` if it serves plain HTTP.
    init?(_ settings: AdminSettings) throws(StartError) {
        guard let files = settings.tls.map({ CertificateFiles($0) }) else { return nil }
        do throws(ProxyError) {
            try self.init(files)
        } catch {
            throw StartError(.badConfiguration, "admin: \(error.message)")
        }
    }
}

extension CallerTLS {
    /// The TLS settings of the listener for sign-ins; `nil` if there is none, or if it serves plain HTTP.
    init?(_ settings: LoginListenerSettings?) throws(StartError) {
        guard let files = settings?.tls.map({ CertificateFiles($0) }) else { return nil }
        do throws(ProxyError) {
            try self.init(files)
        } catch {
            throw StartError(.badConfiguration, "login: \(error.message)")
        }
    }
}

extension CertificateFiles {
    fileprivate init(_ settings: CertificateSettings) {
        self.init(certificate: settings.certificate, key: settings.key)
    }
}

extension ProxyConfiguration.Address {
    fileprivate init(_ address: CallerAddress) {
        switch address {
        case .network(let address): self = .network(host: address.host.text, port: address.port)
        case .unix(let path): self = .unix(path: path)
        }
    }
}

extension CallerConfiguration {
    fileprivate init(_ caller: CallerSettings) {
        self.init(
            name: caller.name,
            keys: caller.keyDigests.compactMap { KeyDigest($0) },
            certificate: caller.certificate.map { CertificateName($0) },
            peer: caller.peer.map { PeerRule(user: $0.user, group: $0.group) },
            routes: caller.routes,
            accounts: caller.accounts,
            methods: caller.methods
        )
    }
}

extension CertificateName {
    fileprivate init(_ name: CertificateNameSettings) {
        switch name {
        case .subject(let text): self = .subject(text)
        case .dns(let text): self = .dns(text)
        case .uri(let text): self = .uri(text)
        case .email(let text): self = .email(text)
        }
    }
}

extension CacheConfiguration {
    fileprivate init(_ cache: CacheSettings) {
        self.init(
            maxSize: cache.maxSize,
            rules: CacheRules(
                maxObject: cache.maxObject,
                defaultTTL: cache.defaultTTL,
                staleIfError: cache.staleIfError
            ),
            isSharedByCallers: cache.share == .account,
            keyFields: cache.keyFields
        )
    }
}

extension RouteConfiguration {
    /// - Parameters:
    ///   - settings: have all accounts that requests may choose from.
    ///   - made: the TLS settings created so far. Reading the files takes long, so routes with the same files share
    ///     one.
    fileprivate init(
        _ route: RouteSettings,
        of settings: GatewaySettings,
        _ made: inout [UpstreamTLS]
    ) throws(StartError) {
        let account: Account
        switch route.account {
        case .fixed(let id): account = .fixed(id)
        case .fromHeader:
            account = .chosen(settings.accounts.map { .name($0.id) } + settings.families.map { .family($0.family) })
        }
        self.init(
            name: route.name,
            host: route.match.host,
            path: route.match.path,
            upstream: Upstream(
                host: route.upstream.host.text,
                port: route.upstream.port,
                path: route.upstream.path,
                tls: try Self.tls(route, &made)
            ),
            account: account,
            strip: route.strip,
            injection: Injection(header: route.injection.header, prefix: route.injection.prefix),
            replayBodyLimit: route.replayBodyLimit,
            retryOn: route.retryOn.map { TokenRejectionSign(status: $0.status, body: $0.json) },
            timeouts: Timeouts(
                connect: route.timeouts.connect,
                response: route.timeouts.response,
                idle: route.timeouts.idle
            ),
            maxConnections: route.maximumConnections,
            connectionAge: route.connectionAge,
            via: route.via,
            passesCookies: route.passesCookies,
            appendsForwarded: route.forwarded == .append,
            asksBeforeBodies: route.expect == .auto,
            cache: route.cache.map { CacheConfiguration($0) }
        )
    }

    private static func tls(
        _ route: RouteSettings,
        _ made: inout [UpstreamTLS]
    ) throws(StartError) -> UpstreamTLS? {
        guard route.upstream.scheme == .https else { return nil }
        let files = UpstreamTLS.Files(
            certificateAuthorities: route.upstreamTLS.certificateAuthorities,
            identity: route.upstreamTLS.identity.map { CertificateFiles($0) }
        )
        if let tls = made.first(where: { $0.files == files }) { return tls }
        do throws(ProxyError) {
            let tls = try UpstreamTLS(files)
            made.append(tls)
            return tls
        } catch {
            throw StartError(.badConfiguration, "route \(route.name): \(error.message)")
        }
    }
}
