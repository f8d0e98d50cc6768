import HTTPWire
import NIOCore
import Proxy
import SystemSupport
import TokenModel

extension UpstreamCredential {
    /// A credential whose token names its generation.
    static func sample(
        _ generation: UInt64 = 1,
        account: AccountID = Rig.account,
        provider: ProviderID = ProviderID("acme"),
        formerProviders: [ProviderID] = [],
        grant: GrantID = GrantID("grant-1"),
        observedEpoch: Epoch = .start,
        usableFor time: Duration = .seconds(3_600),
        scopes: Set<String> = [],
        isGrantRefused: Bool = false
    ) -> UpstreamCredential {
        UpstreamCredential(
            account: account,
            provider: provider,
            formerProviders: formerProviders,
            grant: grant,
            generation: Generation(generation),
            observedEpoch: observedEpoch,
            accessToken: Secret("token-\(generation)"),
            usableUntil: BootInstant.now.advanced(by: time),
            scopes: scopes,
            isGrantRefused: isGrantRefused
        )
    }

    /// The value that goes upstream for a sample.
    var bearer: String { "Bearer token-\(self.generation)" }
}

extension RouteConfiguration {
    /// A route from `/acme/` to `/v2/` on a port of this machine.
    static func sample(port: Int, _ change: (inout RouteConfiguration) -> Void = { _ in }) -> RouteConfiguration {
        var plan = RouteConfiguration(
            name: "acme",
            path: "/acme/",
            upstream: .init(host: "127.0.0.1", port: port, path: "/v2/"),
            account: .fixed(Rig.account)
        )
        change(&plan)
        return plan
    }
}

extension Gateway {
    /// Where a request goes that the user with number 1 sends over a Unix socket.
    func match(_ fields: String, at path: String) throws -> RouteTable.Match {
        let request = try RequestHead.parsed("GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        var caller = UnverifiedCaller(isOnUnixSocket: true, peer: PeerIdentity(user: 1, group: 1))
        switch self.decide(request, from: &caller) {
        case .forward(let match), .wait(let match), .locked(let match), .options(let match): return match
        case .reply(let error): throw error
        }
    }

    /// Adds the token to a head that goes by a route with a fixed account.
    func authorize(_ head: consuming ByteBuffer, _ route: Route) -> AuthorizedHead? {
        guard let slot = route.slot else { return nil }
        return self.authorize(head, RouteTable.Match(route: route, prefix: 0, slot: slot))
    }
}

extension Rig.Setup {
    /// A setup with one route, adapted by `change`.
    static func route(_ change: @escaping (inout RouteConfiguration) -> Void) -> Rig.Setup {
        Rig.Setup(routes: { [.sample(port: $0, change)] })
    }

    /// The same for a gateway whose time stands still.
    var frozen: Rig.Setup {
        var setup = self
        setup.isFrozen = true
        return setup
    }
}

extension String {
    /// The framing field, the empty line, and the text as a body: in chunks of 7,000 bytes, or with its length.
    func framed(_ isChunked: Bool) -> String {
        guard isChunked else { return "Content-Length: \(self.utf8.count)\r\n\r\n\(self)" }
        var rest = self[...]
        var framed = "Transfer-Encoding: CHUNKED\r\n\r\n"
        while !rest.isEmpty {
            let chunk = rest.prefix(7_000)
            framed += "\(String(chunk.utf8.count, radix: 16))\r\n\(chunk)\r\n"
            rest = rest.dropFirst(7_000)
        }
        return framed + "0\r\n\r\n"
    }
}

extension RequestHead {
    /// The head in `text`, which must hold a complete one.
    static func parsed(_ text: String) throws -> RequestHead {
        var parser = RequestHeadParser()
        var bytes = ByteBuffer(string: text)
        guard let head = try parser.next(&bytes) else { throw WrongBytes("not a whole head: \(text)") }
        return head
    }
}

extension ResponseHead {
    /// The head in `text`, which must hold a complete one.
    static func parsed(_ text: String, answering method: HTTPMethod = .get) throws -> ResponseHead {
        var parser = ResponseHeadParser()
        var bytes = ByteBuffer(string: text)
        guard let head = try parser.next(&bytes, answering: method) else {
            throw WrongBytes("not a whole head: \(text)")
        }
        return head
    }
}
