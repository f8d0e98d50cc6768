/// The keys of one route.
enum RouteKey: String, Vocabulary {
    case name, match, upstream, account, strip, inject, replay, cookies, forwarded, timeouts, via
    case maximumConnections = "max_connections"
    case connectionAge = "connection_age"
    case allowCleartext = "allow_cleartext"
    case retryOn = "retry_on"
    case upstreamTLS = "upstream_tls"
    case expect, cache
}

/// The keys of a route's `match`.
enum MatchKey: String, Vocabulary {
    case path, host
}

extension RouteSettings {
    /// Reads `routes`.
    ///
    /// - Parameters:
    ///   - accounts: all accounts; `nil` if they can't be determined.
    ///   - hasCallers: whether the file names callers, which may then choose accounts.
    ///   - listeners: the listeners for callers.
    static func list(
        _ place: Place,
        accounts: ConfiguredAccounts?,
        hasCallers: Bool,
        listeners: [ListenerSettings]
    ) -> [RouteSettings]? {
        guard let items = place.items() else { return nil }
        let isOpenToBrowsers = !hasCallers && !listeners.allSatisfy(\.isUnixSocket)
        var names: [String: Int] = [:]
        var matches: [RouteMatch: Int] = [:]
        return items.enumerated().compactMap { index, item in
            guard let section = Section<RouteKey>(item) else { return nil }
            // Every key is read before the route is rejected, so that all faults of a route are reported at once.
            let name = section.require(.name) { $0.name() }
            let match = section.require(.match) { RouteMatch($0, isOpenToBrowsers: isOpenToBrowsers) }
            let upstream = section.require(.upstream) { $0.upstream(allowsCleartext: section.allows(.allowCleartext)) }
            if let upstream, upstream.scheme == .http {
                section[.upstreamTLS]?.fault(
                    "means nothing for an upstream with http://, write https:// there or leave it out"
                )
            }
            let account = section.require(.account) { RouteAccount($0, among: accounts, hasCallers: hasCallers) }
            let rest = Options(section)
            if let name, let first = names.updateValue(index, forKey: name) {
                section[.name]?.fault("is the name of routes[\(first)] too, give each a name of its own")
            }
            if let match, let first = matches.updateValue(index, forKey: match) {
                section[.match]?.fault(
                    "routes[\(first)] has the same host and path, change those or take one of the two out"
                )
            }
            guard let name, let match, let upstream, let account else { return nil }
            return RouteSettings(
                name: name,
                match: match,
                upstream: upstream,
                account: account,
                strip: rest.strip,
                injection: rest.injection,
                replayBodyLimit: rest.replayBodyLimit,
                retryOn: rest.retryOn,
                timeouts: rest.timeouts,
                maximumConnections: rest.maximumConnections,
                connectionAge: rest.connectionAge,
                via: rest.via,
                passesCookies: rest.passesCookies,
                forwarded: rest.forwarded,
                upstreamTLS: rest.upstreamTLS,
                expect: rest.expect,
                cache: rest.cache
            )
        }
    }

    /// The optional settings of a route.
    private struct Options {
        let strip: Bool
        let injection: InjectionSettings
        let replayBodyLimit: Int
        let retryOn: [RetrySign]
        let timeouts: RouteTimeouts
        let maximumConnections: Int
        let connectionAge: Duration
        let via: Bool
        let passesCookies: Bool
        let forwarded: ForwardedFields
        let upstreamTLS: UpstreamTLSSettings
        let expect: ExpectationMode
        let cache: CacheSettings?

        init(_ section: Section<RouteKey>) {
            self.strip = section.read(.strip) { $0.flag() } ?? true
            let injection = InjectionSettings(section.section(.inject, of: InjectKey.self))
            self.injection = injection
            self.replayBodyLimit =
                section.section(.replay, of: ReplayKey.self).read(.bodyLimit) { $0.size(in: 0...(64 << 20)) } ?? 64
                << 10
            self.retryOn = section.read(.retryOn) { RetrySign.list($0) } ?? []
            self.timeouts = RouteTimeouts(section.section(.timeouts, of: TimeoutKey.self))
            self.maximumConnections = section.read(.maximumConnections) { $0.count(in: 1...65_536) } ?? 1_024
            self.connectionAge =
                section.read(.connectionAge) { $0.duration(in: .seconds(1) ... .hours(24)) } ?? .minutes(10)
            self.via = section.read(.via) { $0.flag() } ?? true
            let passesCookies = section.read(.cookies) { $0.flag() } ?? false
            self.passesCookies = passesCookies
            self.forwarded = section.read(.forwarded) { $0.choice(ForwardedFields.self) } ?? .drop
            self.upstreamTLS = UpstreamTLSSettings(section.section(.upstreamTLS, of: UpstreamTLSKey.self))
            self.expect = section.read(.expect) { $0.choice(ExpectationMode.self) } ?? .auto
            self.cache = section.read(.cache) {
                CacheSettings($0, injected: injection.header, passesCookies: passesCookies)
            }
        }
    }
}

extension RouteMatch {
    /// Reads `match`; `nil` without a valid path.
    ///
    /// - Parameter isOpenToBrowsers: whether a browser on this machine can reach the route without a key.
    init?(_ place: Place, isOpenToBrowsers: Bool) {
        guard let section = Section<MatchKey>(place) else { return nil }
        let host = section.read(.host) { place in
            place.parsed("a host") { text throws(ValueError) in try Self.host(text) }
        }
        // The owner of a host name can make it resolve to loopback. For a name other than `localhost`, browsers don't
        // say which page sends the request (Fetch Metadata, §2). So nothing would distinguish a web page's request from
        // a caller's.
        if host != nil, isOpenToBrowsers {
            section[.host]?.fault(
                "needs callers on a TCP listener: without them any web page in a browser of this machine could use the "
                    + "account by that name; leave host out, name callers, or listen on a Unix socket alone"
            )
        }
        let path = section.require(.path) { place in
            place.parsed("a path") { text throws(ValueError) in
                try PathForm.check(text)
                return text
            }
        }
        // A route with a wrong host must not become a route for all hosts.
        guard let path, section[.host] == nil || host != nil else { return nil }
        self.path = path
        self.host = host
    }

    private static func host(_ text: String) throws(ValueError) -> String {
        let end = text.lastIndex(of: "]") ?? text.startIndex
        guard !text[end...].contains(":") else {
            throw ValueError("must be a host without a port, an IPv6 address in brackets")
        }
        return try NetworkHost(text).authority
    }
}

extension Place {
    fileprivate func upstream(allowsCleartext: Bool) -> HTTPURL? {
        guard let url = self.url() else { return nil }
        guard url.query == nil else {
            self.fault("must not have a query")
            return nil
        }
        let path = url.text.dropFirst(url.scheme.rawValue.count + 3).contains("/") ? url.path : ""
        do throws(ValueError) {
            guard !path.isEmpty else { throw ValueError("must end in /") }
            try PathForm.check(path)
        } catch {
            self.fault(error.message)
            return nil
        }
        self.refuseCleartext(to: url, unless: allowsCleartext)
        return url
    }
}

/// The keys of a route's `inject`.
enum InjectKey: String, Vocabulary {
    case header, prefix
}

/// The keys of a route's `replay`.
enum ReplayKey: String, Vocabulary {
    case bodyLimit = "body_limit"
}

/// The keys of a route's `timeouts`.
enum TimeoutKey: String, Vocabulary {
    case connect, response, idle
}

extension ForwardedFields: Vocabulary {}
extension ExpectationMode: Vocabulary {}

extension InjectionSettings {
    init(_ section: Section<InjectKey>) {
        self.header =
            section.read(.header) { place in
                place.parsed { text throws(ValueError) in
                    try InjectedField.checkName(text)
                    return text
                }
            } ?? "Authorization"
        self.prefix = section.read(.prefix) { $0.injectedPrefix() } ?? "Bearer "
    }
}

extension RouteTimeouts {
    init(_ section: Section<TimeoutKey>) {
        let range: ClosedRange<Duration> = .milliseconds(1) ... .hours(24)
        self.connect = section.read(.connect) { $0.duration(in: range) } ?? .seconds(5)
        self.response = section.read(.response) { $0.duration(in: range) } ?? .minutes(5)
        self.idle = section.read(.idle) { $0.duration(in: range) } ?? .minutes(5)
    }
}

extension Place {
    /// The text before the token. It may be empty, which is written `""`.
    fileprivate func injectedPrefix() -> String? {
        guard let text = self.text(allowingEmpty: true) else { return nil }
        do throws(ValueError) {
            try InjectedField.checkPrefix(text)
            return text
        } catch {
            self.fault(error.message)
            return nil
        }
    }
}
