import Foundation
import HTTPWire
import Proxy
import SystemSupport
import TestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Callers identified by their connection: by a certificate, or by the process behind a Unix socket.
@Suite struct ConnectionCallerTests {
    private static func certificate(_ names: CertificateName...) -> ClientCertificate {
        ClientCertificate(names: names)
    }

    private func table(_ plans: [CallerConfiguration]) -> CallerTable {
        CallerTable(plans, routes: RouteTable([.sample(port: 1)]))
    }

    private func plans() throws -> [CallerConfiguration] {
        [
            CallerConfiguration(name: "batch", certificate: .dns("batch.internal")),
            CallerConfiguration(name: "mesh", certificate: .uri("spiffe://acme.example/mesh")),
            CallerConfiguration(name: "old", certificate: .subject("CN=old,O=Acme")),
            CallerConfiguration(name: "reports", keys: [try .of("right")]),
            CallerConfiguration(name: "cron", peer: PeerRule(user: 1_001)),
            CallerConfiguration(name: "staff", peer: PeerRule(group: 50)),
            CallerConfiguration(
                name: "both",
                keys: [try .of("both")],
                certificate: .email("a@b"),
                peer: PeerRule(user: 7, group: 8)
            ),
            CallerConfiguration(name: "no one", peer: PeerRule()),
        ]
    }

    private func caller(
        _ unverified: inout UnverifiedCaller,
        _ fields: String = "",
        of table: CallerTable
    ) throws -> String? {
        let request = try RequestHead.parsed("GET /acme/ HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        do throws(GatewayError) {
            return try table.authenticate(request, &unverified).name
        } catch {
            #expect(error.code == .callerUnknown)
            return nil
        }
    }

    private static let key = "Martlet-Key: right\r\n"

    @Test(
        arguments: [
            (certificate(.dns("batch.internal")), "", "batch"),
            (certificate(.subject("CN=x"), .dns("other"), .dns("batch.internal")), "", "batch"),
            (certificate(.uri("spiffe://acme.example/mesh")), "", "mesh"),
            (certificate(.subject("CN=old,O=Acme")), "", "old"),
            (certificate(.email("a@b")), "", "both"),
            // If a certificate matches two callers, the first one in the configuration counts.
            (certificate(.subject("CN=old,O=Acme"), .dns("batch.internal")), "", "batch"),
            // A shown certificate decides, known or not. The key does not matter.
            (certificate(.dns("batch.internal")), key, "batch"),
            (certificate(.dns("batch.internal")), "Martlet-Key: wrong\r\n", "batch"),
            (certificate(.dns("stranger.internal")), key, nil),
            (certificate(), key, nil),
            (nil, key, "reports"),
            (nil, "", nil),
            // A name of one kind does not match a name of another kind.
            (certificate(.uri("batch.internal")), "", nil),
            (certificate(.subject("batch.internal")), "", nil),
            (certificate(.dns("CN=old,O=Acme")), "", nil),
            (certificate(.dns("*.internal")), "", nil),
            (certificate(.subject("CN=old")), "", nil),
        ] as [(ClientCertificate?, String, String?)]
    )
    func `a shown certificate decides, whatever key the request carries`(
        certificate: ClientCertificate?,
        fields: String,
        name: String?
    ) throws {
        let table = self.table(try self.plans())
        var unverified = UnverifiedCaller(isOnUnixSocket: false, certificate: certificate)
        for _ in 1...2 { #expect(try self.caller(&unverified, fields, of: table) == name) }
    }

    @Test func `if no caller is configured by certificate, a shown certificate does not authenticate requests`() throws
    {
        let table = self.table([CallerConfiguration(name: "reports", keys: [try .of("right")])])
        var unverified = UnverifiedCaller(isOnUnixSocket: false, certificate: Self.certificate(.dns("batch.internal")))
        #expect(try self.caller(&unverified, Self.key, of: table) == "reports")
        #expect(try self.caller(&unverified, of: table) == nil)
    }

    @Test(
        arguments: [
            (PeerIdentity(user: 1_001, group: 1), "", "cron"),
            (PeerIdentity(user: 1_001, group: 50), "", "cron"),
            (PeerIdentity(user: 2, group: 50), "", "staff"),
            (PeerIdentity(user: 7, group: 8), "", "both"),
            (PeerIdentity(user: 7, group: 9), "", nil),
            (PeerIdentity(user: 50, group: 1_001), "", nil),
            (PeerIdentity(user: 0, group: 0), "", nil),
            (nil, "", nil),
            // The process identifies only requests that carry no key.
            (PeerIdentity(user: 1_001, group: 1), key, "reports"),
            (PeerIdentity(user: 1_001, group: 1), "Martlet-Key: wrong\r\n", nil),
            (PeerIdentity(user: 1_001, group: 1), "Authorization: Negotiate x\r\n", nil),
        ] as [(PeerIdentity?, String, String?)]
    )
    func `a request without a key belongs to the process behind the connection`(
        peer: PeerIdentity?,
        fields: String,
        name: String?
    ) throws {
        let table = self.table(try self.plans())
        var unverified = UnverifiedCaller(isOnUnixSocket: true, peer: peer)
        for _ in 1...2 { #expect(try self.caller(&unverified, fields, of: table) == name) }
    }

    @Test func `each caller table identifies a connection's caller anew`() throws {
        let first = self.table([CallerConfiguration(name: "cron", peer: PeerRule(user: 1))])
        let next = self.table([CallerConfiguration(name: "other", peer: PeerRule(user: 1))])
        let last = self.table([CallerConfiguration(name: "cron", peer: PeerRule(user: 2))])
        var unverified = UnverifiedCaller(isOnUnixSocket: true, peer: PeerIdentity(user: 1, group: 1))
        #expect(try self.caller(&unverified, of: first) == "cron")
        #expect(try self.caller(&unverified, of: next) == "other")
        #expect(try self.caller(&unverified, of: last) == nil)
        #expect(try self.caller(&unverified, of: first) == "cron")
    }

    @Test func `over TLS a caller is known by the certificate it shows`() async throws {
        let files = try TLSFiles()
        var setup = Rig.Setup()
        setup.tls = try CallerTLS(files.pair("server"), clientAuthorities: files.path("client-ca.pem"))
        setup.callers = [
            CallerConfiguration(name: "batch", certificate: .dns("batch.internal"), methods: ["GET"]),
            CallerConfiguration(name: "reports", keys: [try .of("right")]),
        ]
        try await withRig(setup) { rig in
            let identity = (TestCertificates.client, TestCertificates.clientKey)
            let known = try await rig.secureCaller(.caller(showing: identity))
            for (request, status) in [
                ("GET /nowhere", 404), ("GET /nowhere", 404), ("PUT /acme/", 403),
            ] {
                try await known.send("\(request) HTTP/1.1\r\nHost: a\r\nMartlet-Key: wrong\r\n\r\n")
                #expect(try await known.answer().head.status == status)
            }
            let unknown = try await rig.secureCaller(.caller())
            for (fields, status) in [("", 401), ("Martlet-Key: right\r\n", 404)] {
                try await unknown.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
                #expect(try await unknown.answer().head.status == status)
            }
        }
    }

    private func withPath(_ test: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await test(directory.appending(path: "m.sock").path)
    }

    @Test func `over a Unix socket the kernel identifies the calling process`() async throws {
        try await self.withPath { path in
            var setup = Rig.Setup()
            setup.unixSocket = path
            for (rule, status) in [
                (PeerRule(user: geteuid()), 404), (PeerRule(user: geteuid(), group: getegid()), 404),
                (PeerRule(group: getegid()), 404), (PeerRule(user: geteuid() + 1), 401),
                (PeerRule(user: geteuid(), group: getegid() + 1), 401),
            ] {
                setup.callers = [CallerConfiguration(name: "me", peer: rule)]
                try await withRig(setup) { (_: Rig) async throws in
                    let caller = try await Peer.connect(toSocket: path)
                    defer { caller.close() }
                    try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(try await caller.answer().head.status == status)
                }
            }
        }
    }

    @Test func `a reload identifies the caller of a kept connection anew, whatever authenticated it before`()
        async throws
    {
        try await self.withPath { path in
            var setup = Rig.Setup()
            setup.unixSocket = path
            setup.callers = [
                CallerConfiguration(name: "cron", peer: PeerRule(user: geteuid())),
                CallerConfiguration(name: "reports", keys: [try .of("right")]),
            ]
            try await withRig(setup) { rig in
                let connections = [
                    (peer: try await Peer.connect(toSocket: path), fields: ""),
                    (peer: try await Peer.connect(to: rig.port), fields: Self.key),
                ]
                for (callers, status) in [
                    (setup.callers, 404), ([CallerConfiguration(name: "other", keys: [try .of("another")])], 401),
                    (setup.callers, 404),
                ] {
                    let plan = ProxyConfiguration(listeners: [], routes: [], callers: callers, eventLoops: 1)
                    _ = await rig.server.reload(plan)
                    for (peer, fields) in connections {
                        try await peer.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
                        let answer = try await peer.answer()
                        #expect(answer.head.status == status)
                    }
                }
                for (peer, _) in connections { peer.close() }
            }
        }
    }

    @Test func `a reload cuts the tunnel of a removed caller or key, and keeps the tunnel of a remaining caller`()
        async throws
    {
        var setup = Rig.Setup()
        let staying = CallerConfiguration(name: "staying", keys: [try .of("stay")])
        setup.callers = [
            staying, CallerConfiguration(name: "leaving", keys: [try .of("leave")]),
            CallerConfiguration(name: "changing", keys: [try .of("old")]),
        ]
        let changed = CallerConfiguration(name: "changing", keys: [try .of("new")])
        try await withRig(setup) { rig in
            var ends: [(caller: Peer, upstream: Peer)] = []
            for key in ["leave", "stay", "old"] {
                let caller = try await rig.caller()
                try await caller.send(Handshake.request("", "Martlet-Key: \(key)\r\n"))
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                try await upstream.send(Handshake.accepted)
                #expect(try await caller.head().status == 101)
                ends.append((caller, upstream))
            }
            let plan = ProxyConfiguration(
                listeners: [],
                routes: [.sample(port: rig.upstream.port)],
                callers: [staying, changed],
                eventLoops: 1
            )
            _ = await rig.server.reload(plan)

            #expect(try await ends[0].caller.rest().ending == .reset)
            #expect(try await ends[2].caller.rest().ending == .reset)
            _ = try await ends[0].upstream.rest()
            try await ends[1].caller.send("still here\r\n")
            #expect(try await ends[1].upstream.line() == "still here")
        }
    }
}
