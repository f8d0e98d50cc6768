/// The listener for metrics and health, which anybody who reaches it may ask.
package struct MetricsSettings: Equatable, Sendable {
    package let address: ListenerAddress
}
