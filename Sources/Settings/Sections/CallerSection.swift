internal import TokenModel

/// The keys of one caller.
enum CallerKey: String, Vocabulary {
    case name, certificate, peer, routes, accounts, methods
    case keyDigest = "key_sha256"
}

extension CallerSettings {
    /// Reads `callers`.
    ///
    /// - Parameters:
    ///   - listeners: the listeners for callers.
    ///   - routes: all routes; `nil` if they can't be determined.
    ///   - accounts: all accounts; `nil` if they can't be determined.
    static func list(
        _ place: Place,
        listeners: [ListenerSettings],
        routes: [RouteSettings]?,
        accounts: ConfiguredAccounts?
    ) -> [CallerSettings]? {
        guard let items = place.items() else { return nil }
        if items.isEmpty {
            place.fault("is empty, nobody could use the gateway; without callers this machine's users can")
        }
        var names: [String: Int] = [:]
        var owners: [[UInt8]: Int] = [:]
        var certificates: [CertificateNameSettings: Int] = [:]
        var peers: [PeerSettings: Int] = [:]
        return items.enumerated().compactMap { index, item in
            guard let section = Section<CallerKey>(item) else { return nil }
            let name = section.require(.name) { $0.name() }
            if !section.has(.keyDigest), !section.has(.certificate), !section.has(.peer) {
                section.missing("needs key_sha256, certificate or peer; martlet callers new makes a key and its line")
            }
            let digests = section.read(.keyDigest) { $0.keyDigests(of: index, owners: &owners) } ?? []
            let certificate = section.read(.certificate) { CertificateNameSettings($0) }
            if let certificate, let first = certificates.updateValue(index, forKey: certificate) {
                section[.certificate]?.fault("is the certificate of callers[\(first)] too")
            }
            if let place = section[.certificate], !listeners.contains(where: { $0.tls?.clientAuthorities != nil }) {
                place.warn("no listener asks for certificates, see client_ca of its tls")
            }
            let peer = section.read(.peer) { PeerSettings($0) }
            if let peer, let first = peers.updateValue(index, forKey: peer) {
                section[.peer]?.fault("is the peer of callers[\(first)] too")
            } else if let peer, let first = peers.filter({ $0.key != peer && $0.key.covers(peer) }).values.min() {
                section[.peer]?.warn("is never used: callers[\(first)] comes first, and its peer covers this one")
            }
            if let place = section[.peer], !listeners.contains(where: \.isUnixSocket) {
                place.warn("no listener is a Unix socket")
            }
            let allowedRoutes = section.read(.routes) { $0.references(to: "route", among: routes?.map(\.name)) }
            let allowedAccounts = section.read(.accounts) { place in place.atLeastOne { $0.accounts(among: accounts) } }
            if !section.has(.accounts), let family = accounts?.families.first,
                let route = routes?.first(where: { route in
                    route.account == .fromHeader && allowedRoutes?.contains(route.name) ?? !section.has(.routes)
                })
            {
                section.missing(
                    "needs accounts: requests on \(route.name) choose theirs, and without a list this caller could use each "
                        + "account of \(family)"
                )
            }
            let methods = section.read(.methods) { place in place.atLeastOne { $0.method() } }
            if let name, let first = names.updateValue(index, forKey: name) {
                section[.name]?.fault("is the name of callers[\(first)] too, give each a name of its own")
            }
            guard let name else { return nil }
            let caller = CallerSettings(
                name: name,
                keyDigests: digests,
                certificate: certificate,
                peer: peer,
                routes: allowedRoutes,
                accounts: allowedAccounts,
                methods: methods
            )
            if let routes, !routes.isEmpty, !routes.contains(where: caller.mayUse) {
                item.warn("no route is left that this caller may use")
            }
            return caller
        }
    }

    private func mayUse(_ route: RouteSettings) -> Bool {
        guard self.routes?.contains(route.name) != false else { return false }
        return switch route.account {
        case .fixed(let account): self.accounts?.contains { $0.covers(account) } != false
        // The caller has at least one account: an empty list is a fault.
        case .fromHeader: true
        }
    }
}

extension Place {
    /// The items of a list, each converted by `read`. An empty list is a fault: it would permit nothing, and is easily
    /// mistaken for permitting everything.
    fileprivate func atLeastOne<Value>(_ read: (Place) -> Value?) -> [Value]? {
        guard let items = self.items() else { return nil }
        if items.isEmpty { self.fault("is empty; leave it out to allow all") }
        return items.compactMap(read)
    }

    fileprivate func references(to kind: String, among names: [String]?) -> [String]? {
        self.atLeastOne { $0.reference(to: kind, among: names) }
    }

    /// One digest or a list of digests. A list allows a key to be changed without an interruption.
    fileprivate func keyDigests(of caller: Int, owners: inout [[UInt8]: Int]) -> [[UInt8]]? {
        var places = [self]
        if case .list = self.content {
            places = self.items() ?? []
            if places.isEmpty { self.fault("is empty: martlet callers new makes a key and its line") }
        }
        var digests: [[UInt8]] = []
        for place in places {
            guard let digest = place.parsed("the SHA-256 of a key", by: KeyDigest.parse) else { continue }
            if let owner = owners.updateValue(caller, forKey: digest) {
                place.fault(owner == caller ? "is given twice" : "is the key of callers[\(owner)] too")
            }
            digests.append(digest)
        }
        return digests
    }

    /// A method (RFC 9110 §9.1), written as in a request.
    fileprivate func method() -> String? {
        self.parsed("a method") { text throws(ValueError) in
            guard text.utf8.allSatisfy(\.isTokenCharacter) else { throw ValueError("is not a method") }
            // Methods are case-sensitive, and no lower-case method is in use.
            guard text == text.uppercased() else { throw ValueError("must be in upper case, such as GET") }
            guard !["TRACE", "TRACK", "CONNECT"].contains(text) else { throw ValueError("is never served") }
            return text
        }
    }
}

/// The keys of a caller's `certificate`.
enum CallerCertificateKey: String, Vocabulary {
    case subject, san
}

/// The keys of a caller's `peer`.
enum PeerKey: String, Vocabulary {
    case uid, gid
}

extension CertificateNameSettings {
    init?(_ place: Place) {
        guard let section = Section<CallerCertificateKey>(place) else { return nil }
        let subject = section.read(.subject) { $0.parsed("a subject", by: CertificateNameSettings.subject(printed:)) }
        let name = section.read(.san) { $0.parsed("a name", by: CertificateNameSettings.alternative) }
        switch (section.has(.subject), section.has(.san)) {
        case (false, false): section.missing("needs subject or san")
        case (true, true): section[.subject]?.faultAtKey("has no place beside san: one of them says who it is")
        case (true, false), (false, true): break
        }
        guard let known = name ?? subject else { return nil }
        self = known
    }
}

extension PeerSettings {
    init?(_ place: Place) {
        guard let section = Section<PeerKey>(place) else { return nil }
        // The kernel uses the largest value for "nobody".
        let range = 0...Int(UInt32.max) - 1
        self.user = section.read(.uid) { $0.count(in: range) }.map { UInt32($0) }
        self.group = section.read(.gid) { $0.count(in: range) }.map { UInt32($0) }
        if !section.has(.uid), !section.has(.gid) { section.missing("needs uid or gid") }
        guard self.user != nil || self.group != nil else { return nil }
    }
}
