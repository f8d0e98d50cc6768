internal import Settings

/// The parts of a configuration that were changed in its file and that a running gateway can't follow.
struct RestartNeeds: Equatable {
    /// As the file names them.
    let parts: [String]

    /// - Parameter running: what the gateway was started with.
    init(from running: GatewaySettings, to read: GatewaySettings) {
        func part<Value: Equatable>(_ name: String, _ value: (GatewaySettings) -> Value) -> String? {
            value(running) == value(read) ? nil : name
        }
        self.parts = [
            // Certificates may be others, but whether there are any may not.
            part("listeners") { $0.listeners.map(ListenerKind.init) },
            part("admin") { AdminKind($0.admin) },
            part("metrics") { $0.metrics },
            part("state_dir") { $0.stateDirectory },
            part("store") { $0.store },
            part("replica") { $0.replica },
            part("shutdown_grace") { $0.shutdownGrace },
        ].compactMap { $0 }
    }

    /// What a reload has come to: what is different now, or why nothing is.
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
