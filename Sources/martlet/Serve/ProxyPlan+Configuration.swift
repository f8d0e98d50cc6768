internal import Foundation
internal import HTTPWire
internal import Proxy
internal import Settings

extension ProxyPlan {
    /// What the configuration says of listeners, routes and limits, as the data path takes it.
    init(_ settings: GatewaySettings, eventLoops: Int) {
        self.init(
            listeners: settings.listeners.map { Address(host: $0.address.host.text, port: $0.address.port) },
            routes: settings.routes.map(RoutePlan.init),
            headLimits: HeadLimits(
                head: settings.limits.head,
                field: settings.limits.field,
                fields: settings.limits.fields,
                target: settings.limits.target
            ),
            waiters: settings.limits.waiters,
            eventLoops: eventLoops
        )
    }
}

extension RoutePlan {
    fileprivate init(_ route: RouteSettings) {
        self.init(
            name: route.name,
            host: route.match.host,
            // The configuration writes it as a URL does; the data path compares decoded segments.
            path: route.match.path.removingPercentEncoding ?? route.match.path,
            upstream: Upstream(
                host: route.upstream.host.text,
                port: route.upstream.port,
                path: route.upstream.path
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
}
