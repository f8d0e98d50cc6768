/// Tells the admin API about the process what it can't see itself: the program's assembly knows it.
package protocol GatewayMonitor: Sendable {
    /// How the process is at the moment. Must come back within a second or so, also with the store away.
    func vitals() async -> GatewayVitals

    /// What the process has counted, as Prometheus reads it.
    func metrics() async -> MetricsText
}
