/// What upstream connections are shared by: where they go, and on what terms.
struct UpstreamOrigin: Sendable, Hashable {
    let host: String
    let port: Int
    /// `nil`: plain TCP.
    let tls: UpstreamTLS?
    let connectTimeout: Duration
    let maxConnections: Int

    init(_ plan: RoutePlan) {
        self.host = plan.upstream.host
        self.port = plan.upstream.port
        self.tls = plan.upstream.tls
        self.connectTimeout = plan.timeouts.connect
        self.maxConnections = plan.maxConnections
    }
}
