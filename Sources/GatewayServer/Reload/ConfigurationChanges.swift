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
        parts += Self.names("route", old.routes, new.routes, { $0.name }, areDifferent: !=)
        parts += Self.names("caller", old.callers ?? [], new.callers ?? [], { $0.name }, areDifferent: !=)
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
