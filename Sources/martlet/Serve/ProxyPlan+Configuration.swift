internal import HTTPWire
internal import Proxy
internal import Settings

extension ProxyPlan {
    /// What the configuration says of listeners, routes and limits, as the data path takes it.
    ///
    /// - Parameter connections: of callers at once; what the process can hold may be less than what is configured.
    init(_ settings: GatewaySettings, connections: Int, eventLoops: Int) throws(CommandFailure) {
        var trust: [String?: UpstreamTLS] = [:]
        var routes: [RoutePlan] = []
        for route in settings.routes { routes.append(try RoutePlan(route, trust: &trust)) }
        self.init(
            listeners: settings.listeners.map { Address($0.address) },
            routes: routes,
            callers: settings.callers.map { $0.map(CallerPlan.init) },
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
            waiters: settings.limits.waiters,
            eventLoops: eventLoops
        )
    }
}

extension ProxyPlan.Address {
    fileprivate init(_ address: CallerAddress) {
        switch address {
        case .network(let address): self = .network(host: address.host.text, port: address.port)
        case .unix(let path): self = .unix(path: path)
        }
    }
}

extension CallerPlan {
    fileprivate init(_ caller: CallerSettings) {
        self.init(
            name: caller.name,
            keys: caller.keyDigests.compactMap { KeyDigest($0) },
            routes: caller.routes,
            accounts: caller.accounts,
            methods: caller.methods
        )
    }
}

extension RoutePlan {
    /// - Parameter trust: made once for each file of roots, since reading one takes long.
    fileprivate init(_ route: RouteSettings, trust: inout [String?: UpstreamTLS]) throws(CommandFailure) {
        self.init(
            name: route.name,
            host: route.match.host,
            path: route.match.path,
            upstream: Upstream(
                host: route.upstream.host.text,
                port: route.upstream.port,
                path: route.upstream.path,
                tls: try Self.tls(route, &trust)
            ),
            account: route.account,
            strip: route.strip,
            injection: Injection(header: route.injection.header, prefix: route.injection.prefix),
            replayBodyLimit: route.replayBodyLimit,
            timeouts: Timeouts(
                connect: route.timeouts.connect,
                response: route.timeouts.response,
                idle: route.timeouts.idle
            ),
            maxConnections: route.maximumConnections,
            via: route.via
        )
    }

    private static func tls(
        _ route: RouteSettings,
        _ trust: inout [String?: UpstreamTLS]
    ) throws(CommandFailure) -> UpstreamTLS? {
        guard route.upstream.scheme == .https else { return nil }
        if let made = trust[route.certificateAuthorities] { return made }
        do throws(ProxyError) {
            let made = try UpstreamTLS(certificateAuthorities: route.certificateAuthorities)
            trust[route.certificateAuthorities] = made
            return made
        } catch {
            throw CommandFailure(.badConfiguration, "route \(route.name): \(error.message)")
        }
    }
}
