package import TokenModel

/// One rule of the configuration: which requests go to which upstream with which account's token.
package struct RouteConfiguration: Sendable {
    package var name: String
    /// Without a port, in any case; `nil` matches any host.
    package var host: String?
    /// Whole segments as a URL has them (percent-encoded), beginning and ending with `/`.
    package var path: String
    package var upstream: Upstream
    /// Whose token they get; where there are ``choices``, any of them, and of each of its routes the one that it is for.
    package var account: AccountID
    /// A request's `Martlet-Account` names one of these, and gets that one's token; `nil`: ``account`` it is. Only known
    /// callers may choose.
    package var choices: [AccountID]?
    /// Replace the matched path by the upstream's; else the whole path follows it.
    package var strip: Bool
    package var injection: Injection
    /// Bodies up to this many bytes are kept, so that they can be sent again after a dead token.
    package var replayBodyLimit: Int
    /// Answers that say that the token is dead, besides the 401 that does.
    package var retryOn: [TokenRejectionSign]
    package var timeouts: Timeouts
    /// Upstream connections per event loop.
    package var maxConnections: Int
    /// Add `Via: 1.1 martlet`.
    package var via: Bool
    /// Let `Cookie` and `Set-Cookie` pass.
    package var passesCookies: Bool
    /// Keep `Forwarded` and its older kin, and extend them by the caller's address; else drop them.
    package var appendsForwarded: Bool
    /// Have the upstream say that it wants a large body before that is sent (`Expect: 100-continue`, RFC 9110 §10.1.1).
    package var asksBeforeBodies: Bool

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

        /// What `Host` says of it: an IPv6 address in brackets, the port where it is not the scheme's (RFC 9110 §7.2).
        package var authority: String {
            let host = self.host.contains(":") ? "[\(self.host)]" : self.host
            return self.port == (self.tls == nil ? 80 : 443) ? host : "\(host):\(self.port)"
        }

        /// As the log names it (RFC 6454 §6.2).
        package var origin: String { "\(self.tls == nil ? "http" : "https")://\(self.authority)" }
    }

    /// How long an upstream may take.
    package struct Timeouts: Sendable, Equatable {
        /// To have a connection.
        package var connect: Duration
        /// From the request's last byte to the answer's head.
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
        account: AccountID,
        choices: [AccountID]? = nil,
        strip: Bool = true,
        injection: Injection = Injection(),
        replayBodyLimit: Int = 64 << 10,
        retryOn: [TokenRejectionSign] = [],
        timeouts: Timeouts = Timeouts(),
        maxConnections: Int = 1_024,
        via: Bool = true,
        passesCookies: Bool = false,
        appendsForwarded: Bool = false,
        asksBeforeBodies: Bool = true
    ) {
        self.name = name
        self.host = host
        self.path = path
        self.upstream = upstream
        self.account = account
        self.choices = choices
        self.strip = strip
        self.injection = injection
        self.replayBodyLimit = replayBodyLimit
        self.retryOn = retryOn
        self.timeouts = timeouts
        self.maxConnections = maxConnections
        self.via = via
        self.passesCookies = passesCookies
        self.appendsForwarded = appendsForwarded
        self.asksBeforeBodies = asksBeforeBodies
    }
}
