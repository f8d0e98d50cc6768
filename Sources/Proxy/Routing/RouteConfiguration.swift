package import TokenModel

/// One rule of the configuration: which requests go to which upstream with which account's token.
package struct RouteConfiguration: Equatable, Sendable {
    package var name: String
    /// Without a port, in any case; `nil` matches any host.
    package var host: String?
    /// Whole segments as a URL has them (percent-encoded), beginning and ending with `/`.
    package var path: String
    package var upstream: Upstream
    package var account: Account
    /// Replace the matched path by the upstream's path; otherwise append the whole path to the upstream's.
    package var strip: Bool
    package var injection: Injection
    /// Bodies up to this many bytes are kept, so that they can be sent again after a rejected token.
    package var replayBodyLimit: Int
    /// Responses that say that the token is dead, besides the usual 401.
    package var retryOn: [TokenRejectionSign]
    package var timeouts: Timeouts
    /// Upstream connections per event loop.
    package var maxConnections: Int
    /// How long a connection to the upstream serves requests, give or take a tenth. Each new one asks for the
    /// upstream's addresses anew.
    package var connectionAge: Duration
    /// Add `Via: 1.1 martlet (WORD)`.
    package var via: Bool
    /// Let `Cookie` and `Set-Cookie` pass.
    package var passesCookies: Bool
    /// Keep `Forwarded` and its older variants, and append the caller's address to them; otherwise drop them.
    package var appendsForwarded: Bool
    /// Ask the upstream before a large body is sent to it (`Expect: 100-continue`, RFC 9110 §10.1.1).
    package var asksBeforeBodies: Bool
    /// `nil`: responses are not stored.
    package var cache: CacheConfiguration?

    /// Whose token the requests get.
    package enum Account: Equatable, Sendable {
        case fixed(AccountID)
        /// The account that a request names in `Martlet-Account`, if one of these patterns covers it. A family covers the
        /// accounts of it that exist at the time. Only known callers may choose.
        case chosen([AccountPattern])
    }

    /// Where requests go: a host and port, under a path that begins and ends with `/`.
    package struct Upstream: Sendable, Hashable {
        /// A name or an IP address, without brackets.
        package var host: String
        package var port: Int
        package var path: String
        /// `nil`: plain HTTP.
        package var tls: UpstreamTLS?

        package init(host: String, port: Int, path: String, tls: UpstreamTLS? = nil) {
            self.host = host
            self.port = port
            self.path = path
            self.tls = tls
        }

        /// The value of `Host`: an IPv6 address in brackets, and the port unless it is the scheme's (RFC 9110 §7.2).
        package var authority: String {
            let host = self.host.contains(":") ? "[\(self.host)]" : self.host
            return self.port == (self.tls == nil ? 80 : 443) ? host : "\(host):\(self.port)"
        }

        /// The origin as the log shows it (RFC 6454 §6.2).
        package var origin: String { "\(self.tls == nil ? "http" : "https")://\(self.authority)" }
    }

    /// How long an upstream may take.
    package struct Timeouts: Sendable, Equatable {
        /// Until there is a connection.
        package var connect: Duration
        /// From the request's last byte to the response head.
        package var response: Duration
        /// Without a byte in either direction.
        package var idle: Duration

        package init(
            connect: Duration = .seconds(5),
            response: Duration = .seconds(300),
            idle: Duration = .seconds(300)
        ) {
            self.connect = connect
            self.response = response
            self.idle = idle
        }
    }

    package init(
        name: String,
        host: String? = nil,
        path: String,
        upstream: Upstream,
        account: Account,
        strip: Bool = true,
        injection: Injection = Injection(),
        replayBodyLimit: Int = 64 << 10,
        retryOn: [TokenRejectionSign] = [],
        timeouts: Timeouts = Timeouts(),
        maxConnections: Int = 1_024,
        connectionAge: Duration = .seconds(600),
        via: Bool = true,
        passesCookies: Bool = false,
        appendsForwarded: Bool = false,
        asksBeforeBodies: Bool = true,
        cache: CacheConfiguration? = nil
    ) {
        self.name = name
        self.host = host
        self.path = path
        self.upstream = upstream
        self.account = account
        self.strip = strip
        self.injection = injection
        self.replayBodyLimit = replayBodyLimit
        self.retryOn = retryOn
        self.timeouts = timeouts
        self.maxConnections = maxConnections
        self.connectionAge = connectionAge
        self.via = via
        self.passesCookies = passesCookies
        self.appendsForwarded = appendsForwarded
        self.asksBeforeBodies = asksBeforeBodies
        self.cache = cache
    }
}
