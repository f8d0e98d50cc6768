import Foundation
import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

#if canImport(Glibc)
    import Glibc
#endif

/// Which tunnels a reload cuts: those whose caller is no longer known by what authenticated it, or may no longer use
/// the route.
@Suite struct CutTunnelTests {
    private func plan(_ callers: [CallerConfiguration], of rig: Rig) -> ProxyConfiguration {
        ProxyConfiguration(listeners: [], routes: [.sample(port: rig.upstream.port)], callers: callers, eventLoops: 1)
    }

    /// Sends a request that authenticates its caller. It gets 404 and reaches no upstream.
    private func ask(_ caller: Peer, _ fields: String) async throws {
        try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        #expect(try await caller.answer().head.status == 404)
    }

    /// Opens a tunnel by a request with `fields`, and returns the upstream's end.
    private func tunnel(_ caller: Peer, _ fields: String, on rig: Rig) async throws -> Peer {
        try await caller.send(Handshake.request("", fields))
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.head()
        try await upstream.send(Handshake.accepted)
        #expect(try await caller.head().status == 101)
        return upstream
    }

    @Test func `a tunnel does not open for a caller that is removed before the upstream responds`() async throws {
        var setup = Rig.Setup()
        let staying = CallerConfiguration(name: "staying", keys: [try .of("stay")])
        setup.callers = [staying, CallerConfiguration(name: "leaving", keys: [try .of("leave")])]
        try await withRig(setup) { rig in
            // Given two callers that have asked for a tunnel, and an upstream that has not responded
            var ends: [(caller: Peer, upstream: Peer)] = []
            for key in ["leave", "stay"] {
                let caller = try await rig.caller()
                try await caller.send(Handshake.request("", "Martlet-Key: \(key)\r\n"))
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                ends.append((caller, upstream))
            }

            // When one caller is removed, and the upstream accepts both afterwards
            _ = await rig.server.reload(self.plan([staying], of: rig))
            for end in ends { try await end.upstream.send(Handshake.accepted) }

            // Then the removed caller's connection is reset without a response, and the other caller has its tunnel
            let (bytes, ending) = try await ends[0].caller.rest()
            #expect(bytes.readableBytes == 0 && ending == .reset)
            _ = try await ends[0].upstream.rest()
            #expect(try await ends[1].caller.head().status == 101)
            try await ends[1].caller.send("still here\r\n")
            #expect(try await ends[1].upstream.line() == "still here")
        }
    }

    /// What a reload leaves of a caller and of its route, and whether a tunnel stays.
    struct Remains: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var changes: [@Sendable (inout RouteConfiguration) -> Void] = [{ _ in }]
        /// `nil` means that no callers are configured, before and after the reload.
        var caller: (@Sendable (inout CallerConfiguration) -> Void)? = { _ in }
        var stays = false
    }

    static let remains = [
        Remains(testDescription: "all", stays: true),
        Remains(testDescription: "all, behind another", changes: [{ $0.name = "other" }, { _ in }], stays: true),
        Remains(
            testDescription: "other timeouts",
            changes: [
                {
                    $0.timeouts.connect = .seconds(3)
                    $0.maxConnections = 7
                }
            ],
            stays: true
        ),
        Remains(
            testDescription: "by name",
            caller: {
                $0.routes = ["acme"]
                $0.accounts = [.name(Rig.account)]
            },
            stays: true
        ),
        Remains(
            testDescription: "another route",
            changes: [{ _ in }, { $0.name = "other" }],
            caller: { $0.routes = ["other"] }
        ),
        Remains(testDescription: "another account", caller: { $0.accounts = [.name(AccountID("bob"))] }),
        Remains(testDescription: "another method", caller: { $0.methods = ["POST"] }),
        Remains(testDescription: "the route is renamed", changes: [{ $0.name = "other" }]),
        Remains(testDescription: "the route has another account", changes: [{ $0.account = .fixed(AccountID("bob")) }]),
        Remains(testDescription: "the route goes elsewhere", changes: [{ $0.upstream.port += 1 }]),
        Remains(testDescription: "no callers", caller: nil, stays: true),
        Remains(testDescription: "no callers, no route", changes: [{ $0.name = "other" }], caller: nil),
    ]

    @Test(arguments: remains)
    func `a tunnel stays while its caller may use its route`(_ remains: Remains) async throws {
        let me = CallerConfiguration(name: "me", keys: [try .of("k")])
        var setup = Rig.Setup()
        setup.callers = remains.caller.map { _ in [me] }
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            let upstream = try await self.tunnel(caller, "Martlet-Key: k\r\n", on: rig)

            let callers = remains.caller.map { change in
                var caller = me
                change(&caller)
                return [caller]
            }
            let routes = remains.changes.map { RouteConfiguration.sample(port: rig.upstream.port, $0) }
            _ = await rig.server.reload(
                ProxyConfiguration(listeners: [], routes: routes, callers: callers, eventLoops: 1)
            )

            if remains.stays {
                try await caller.send("still here\r\n")
                #expect(try await upstream.line() == "still here")
            } else {
                #expect(try await caller.rest().ending == .reset)
                _ = try await upstream.rest()
            }
        }
    }

    @Test func `a tunnel does not open on a route that its caller loses before the upstream responds`() async throws {
        var setup = Rig.Setup()
        setup.callers = [CallerConfiguration(name: "me", keys: [try .of("k")])]
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send(Handshake.request("", "Martlet-Key: k\r\n"))
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()

            _ = await rig.server.reload(
                self.plan(
                    [CallerConfiguration(name: "me", keys: [try .of("k")], accounts: [.name(AccountID("bob"))])],
                    of: rig
                )
            )
            try await upstream.send(Handshake.accepted)

            let (bytes, ending) = try await caller.rest()
            #expect(bytes.readableBytes == 0 && ending == .reset)
            _ = try await upstream.rest()
        }
    }

    /// Runs `test` with a caller that is known by its process and by keys, on one connection over a Unix socket.
    private func withCaller(
        _ test: (Rig, Peer, _ keyAlone: [CallerConfiguration], _ peerAlone: [CallerConfiguration]) async throws -> Void
    )
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "m.sock").path
        let keys = [try KeyDigest.of("right"), try .of(Self.long)]
        var setup = Rig.Setup()
        setup.unixSocket = path
        setup.callers = [CallerConfiguration(name: "me", keys: keys, peer: PeerRule(user: geteuid()))]
        try await withRig(setup) { (rig: Rig) async throws in
            let caller = try await Peer.connect(toSocket: path)
            defer { caller.close() }
            try await test(
                rig,
                caller,
                [CallerConfiguration(name: "me", keys: keys)],
                [CallerConfiguration(name: "me", peer: PeerRule(user: geteuid()))]
            )
        }
    }

    /// A key longer than a connection remembers.
    private static let long = String(repeating: "k", count: 600)

    private static let keyFields = ["Martlet-Key: right\r\n", "Martlet-Key: \(long)\r\n"]

    /// The fields of the first request, and those of the request that opens the tunnel.
    static let ways: [(first: String, opening: String)] =
        keyFields.flatMap { [("", $0), ($0, "")] } + [(keyFields[0], keyFields[1]), (keyFields[1], keyFields[0])]

    @Test(arguments: ways)
    func `a tunnel is judged by what authenticated its own request, not an earlier one`(
        first: String,
        opening: String
    ) async throws {
        let isByKey = !opening.isEmpty
        // The tunnel is cut when that credential is removed.
        try await self.withCaller { rig, caller, keyAlone, peerAlone in
            try await self.ask(caller, first)
            let upstream = try await self.tunnel(caller, opening, on: rig)
            _ = await rig.server.reload(self.plan(isByKey ? peerAlone : keyAlone, of: rig))
            _ = try await upstream.rest()
            _ = try await caller.rest()
        }
        // The tunnel stays when that credential stays.
        try await self.withCaller { rig, caller, keyAlone, peerAlone in
            try await self.ask(caller, first)
            let upstream = try await self.tunnel(caller, opening, on: rig)
            _ = await rig.server.reload(self.plan(isByKey ? keyAlone : peerAlone, of: rig))
            try await caller.send("still here\r\n")
            #expect(try await upstream.line() == "still here")
        }
    }
}
