/// The keys of one listener.
enum ListenerKey: String, Vocabulary {
    case address, tls
}

extension ListenerSettings {
    /// The default if the file has no `listeners`.
    static let standard = ListenerSettings(address: .network(ListenerAddress(loopbackPort: 8080)))

    /// Reads `listeners`. Without callers, anyone who can connect can use every account, so all listeners must be on
    /// loopback or Unix sockets.
    static func list(_ place: Place, hasCallers: Bool) -> [ListenerSettings]? {
        guard let items = place.items() else { return nil }
        if items.isEmpty {
            place.fault("is empty: write one such as { address: \(Self.standard.address) }, or leave it out for that")
        }
        var listeners: [ListenerSettings] = []
        for item in items {
            guard let section = Section<ListenerKey>(item) else { continue }
            let address = section.require(.address) { $0.callerAddress(hasCallers: hasCallers) }
            let tls = section.read(.tls) { ListenerTLSSettings($0) }
            guard let address else { continue }
            if case .unix = address {
                section[.tls]?.fault("is not for a Unix socket: leave it out, or listen on an address and a port")
            }
            if address.isReachableFromOutside, section[.tls] == nil {
                section[.address]?.warn("callers' keys and the answers travel unencrypted there")
            }
            if let owner = address.owner(among: listeners) {
                section[.address]?.fault("is the address of \(owner) too")
            }
            listeners.append(ListenerSettings(address: address, tls: tls))
        }
        return listeners
    }
}

extension ListenerAddress {
    /// The listener that already has this address. Port 0 never matches, because the system assigns each listener its
    /// own port.
    func owner(among listeners: [ListenerSettings]) -> String? {
        CallerAddress.network(self).owner(among: listeners)
    }
}

extension CallerAddress {
    /// As ``ListenerAddress/owner(among:)``.
    fileprivate func owner(among listeners: [ListenerSettings]) -> String? {
        if case .network(let address) = self, address.port == 0 { return nil }
        return listeners.firstIndex { $0.address == self }.map { "listeners[\($0)]" }
    }
}

extension Place {
    /// An address that only this machine can reach.
    ///
    /// - Parameter need: what another address would require, for the message.
    func loopbackAddress(or need: String) -> ListenerAddress? {
        guard let address = self.listenerAddress() else { return nil }
        guard address.host.isLoopback else {
            self.fault("must be a loopback address such as 127.0.0.1 or [::1]: \(need)")
            return nil
        }
        return address
    }

    func listenerAddress() -> ListenerAddress? {
        self.parsed("an address") { text throws(ValueError) in try ListenerAddress(text) }
    }

    fileprivate func callerAddress(hasCallers: Bool) -> CallerAddress? {
        guard let address = self.parsed("an address", by: { text throws(ValueError) in try CallerAddress(text) })
        else { return nil }
        guard hasCallers || !address.isReachableFromOutside else {
            self.fault(
                "must be a loopback address such as 127.0.0.1 or [::1], or a Unix socket: a gateway that others can "
                    + "reach needs callers"
            )
            return nil
        }
        return address
    }
}
