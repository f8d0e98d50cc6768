package import Settings
package import TokenModel

/// The differences between two configurations: names for the log, never values.
package struct ConfigurationChanges: Equatable, Sendable {
    /// Texts such as `route acme added`, in the order of the file.
    package let parts: [String]

    /// - Parameter providers: providers that have a new endpoint although their settings may be equal, because the
    ///   contents of a file have changed.
    package init(from old: GatewaySettings, to new: GatewaySettings, providers: Set<ProviderID> = []) {
        var parts = Self.names("provider", old.providers, new.providers, { $0.id.rawValue }) {
            $0 != $1 || providers.contains($0.id)
        }
        parts += Self.names("account", old.accounts, new.accounts, { $0.id.rawValue }, areDifferent: !=)
        parts += Self.names("family", old.families, new.families, { $0.family.description }, areDifferent: !=)
        parts += Self.names("route", old.routes, new.routes, { $0.name }, areDifferent: !=)
        parts += Self.names("caller", old.callers ?? [], new.callers ?? [], { $0.name }, areDifferent: !=)
        if old.requireApproval != new.requireApproval { parts.append("require_approval") }
        if old.limits != new.limits { parts.append("limits") }
        if old.webhook != new.webhook { parts.append("webhook") }
        if old.log != new.log { parts.append("log") }
        self.parts = parts
    }

    private static func names<Part>(
        _ kind: String,
        _ old: [Part],
        _ new: [Part],
        _ name: (Part) -> String,
        areDifferent: (Part, Part) -> Bool
    ) -> [String] {
        let before = Dictionary(old.map { (name($0), $0) }) { first, _ in first }
        let after = Set(new.map(name))
        let there: [String] = new.compactMap { part in
            guard let known = before[name(part)] else { return "\(kind) \(name(part)) added" }
            return areDifferent(known, part) ? "\(kind) \(name(part)) changed" : nil
        }
        return there + old.map(name).filter { !after.contains($0) }.map { "\(kind) \($0) removed" }
    }
}

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
            part("login") { $0.login.map(LoginKind.init) },
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

    private struct LoginKind: Equatable {
        let address: ListenerAddress
        let isEncrypted: Bool
        let redirectURI: RedirectURI

        init(_ login: LoginListenerSettings) {
            self.address = login.address
            self.isEncrypted = login.tls != nil
            self.redirectURI = login.redirectURI
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
