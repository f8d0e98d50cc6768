internal import Settings

/// The changed parts of a configuration file that a running gateway can't apply.
struct RestartNeeds: Equatable {
    /// The names of the parts in the file.
    let parts: [String]

    /// - Parameter running: the settings at start.
    init(from running: GatewaySettings, to read: GatewaySettings) {
        func part<Value: Equatable>(_ name: String, _ value: (GatewaySettings) -> Value) -> String? {
            value(running) == value(read) ? nil : name
        }
        self.parts = [
            // Certificates may change, but a listener can't gain or lose TLS.
            part("listeners") { $0.listeners.map(ListenerKind.init) },
            part("admin") { AdminKind($0.admin) },
            part("metrics") { $0.metrics },
            part("state_dir") { $0.stateDirectory },
            part("store") { $0.store },
            part("replica") { $0.replica },
            part("shutdown_grace") { $0.shutdownGrace },
        ].compactMap { $0 }
    }

    /// The outcome of a reload: what has changed, or why nothing has.
    func outcome(_ changes: [String]) -> String {
        guard changes.isEmpty else { return changes.joined(separator: ", ") }
        let parts = self.parts.joined(separator: ", ")
        return parts.isEmpty ? "nothing is different" : "nothing is different before a restart: \(parts)"
    }

    private struct AdminKind: Equatable {
        let address: ListenerAddress
        let isEncrypted: Bool
        let tokenFile: String
        let socket: String

        init(_ admin: AdminSettings) {
            self.address = admin.address
            self.isEncrypted = admin.tls != nil
            self.tokenFile = admin.tokenFile
            self.socket = admin.socket
        }
    }

    private struct ListenerKind: Equatable {
        let address: CallerAddress
        let isEncrypted: Bool

        init(_ listener: ListenerSettings) {
            self.address = listener.address
            self.isEncrypted = listener.tls != nil
        }
    }
}
