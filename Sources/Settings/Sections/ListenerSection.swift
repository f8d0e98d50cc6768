/// The keys of one listener.
enum ListenerKey: String, Vocabulary {
    case address

    static let later = ["tls"]
}

extension ListenerSettings {
    /// What a file without `listeners` means.
    static let standard = ListenerSettings(address: ListenerAddress(loopbackPort: 8080))

    /// Reads `listeners`. All of them are on loopback: there are no callers to tell apart, and whoever can connect can
    /// use every account.
    static func list(_ place: Place) -> [ListenerSettings]? {
        guard let items = place.items() else { return nil }
        if items.isEmpty { place.fault("is empty, there must be one") }
        var listeners: [ListenerSettings] = []
        for item in items {
            guard let section = Section<ListenerKey>(item) else { continue }
            let address = section.require(.address) { place in
                place.loopbackAddress(or: "a gateway that others can reach needs callers, not supported yet")
            }
            guard let address else { continue }
            if let owner = address.owner(among: listeners) {
                section[.address]?.fault("is the address of \(owner) too")
            }
            listeners.append(ListenerSettings(address: address))
        }
        return listeners
    }
}

extension ListenerAddress {
    /// Which of `listeners` has this address too; the system gives every asker for port 0 another one.
    func owner(among listeners: [ListenerSettings]) -> String? {
        guard self.port != 0 else { return nil }
        return listeners.firstIndex { $0.address == self }.map { "listeners[\($0)]" }
    }
}

extension Place {
    /// An address that only this machine can reach.
    /// - Parameter need: why no other is taken.
    func loopbackAddress(or need: String) -> ListenerAddress? {
        guard let address = self.parsed("an address", by: { text throws(ValueError) in try ListenerAddress(text) })
        else { return nil }
        guard address.host.isLoopback else {
            self.fault("must be a loopback address such as 127.0.0.1 or [::1]: \(need)")
            return nil
        }
        return address
    }
}
