import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A refresh token is sent only to the issuer that issued it, at the token endpoint that the issuer had then.
@Suite(.simulated) struct IssuerTests {
    private static let realm = "\(origin)/realms/a"
    private static let known = TokenIssuer.issuer(realm, tokenEndpoint: "\(realm)/token")

    private static func record(of issuer: TokenIssuer, _ record: AccountRecord = .expired()) -> AccountRecord {
        record.with { $0.binding.issuer = issuer }
    }

    private static let moves: [(stored: TokenIssuer, configured: TokenIssuer)] = [
        (.tokenEndpoint("\(realm)/token"), .tokenEndpoint("\(origin)/realms/b/token")),
        (known, .issuer("\(origin)/realms/b", tokenEndpoint: "\(origin)/realms/b/token")),
        (known, .issuer(realm, tokenEndpoint: "\(origin)/realms/b/token")),
        (known, .issuer(realm, tokenEndpoint: "https://evil.example:443/token")),
    ]

    @Test(arguments: moves)
    func `a refresh token whose realm or token endpoint has changed is not sent until it is adopted`(
        stored: TokenIssuer,
        configured: TokenIssuer
    ) async throws {
        // Given tokens of one issuer, and another issuer or endpoint in its place
        let house = Cluster()
        try await house.put(Self.record(of: stored))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: configured)
        try await house.withReplica(endpoint) { replica in
            // When somebody needs a token
            let error = await #expect(throws: CredentialError.self) { try await replica.engine.credential(for: alice) }

            // Then nothing is sent, nothing is lost, and the error names the remedy
            #expect(error?.code == .reauthorizationRequired)
            #expect(error?.message.contains("martlet accounts adopt alice") == true)
            #expect(error?.message.contains("\(configured)") == true)
            #expect(endpoint.spent.isEmpty)
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .reauthorizationRequired)
            #expect(status?.lastError == "bound_elsewhere")
            #expect(try await house.record() == Self.record(of: stored))

            // And an adoption by the operator is enough
            try await replica.engine.adopt(alice)
            _ = try await replica.engine.credential(for: alice)
            #expect(endpoint.spent.count == 1)
            #expect(endpoint.sentFor.last == configured)
            #expect(try await house.record()?.binding.issuer == configured)
        }
    }

    @Test func `a valid access token is used although its endpoint has moved, and the endpoint is checked again`()
        async throws
    {
        let house = Cluster()
        try await house.put(Self.record(of: Self.known, .valid()))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: .issuer(Self.realm, tokenEndpoint: "https://evil.example:443/token"))
        try await house.withReplica(endpoint) { replica in
            _ = try await replica.engine.credential(for: alice)
            #expect(await replica.engine.status(of: alice)?.lastError == "bound_elsewhere")
            let refreshed = await replica.engine.refreshNow(alice)
            #expect(refreshed?.refreshError == .reauthorizationRequired)
            await house.clock.settle()
            #expect(endpoint.doubts > 0)
            _ = try await replica.engine.credential(for: alice)
            #expect(endpoint.spent.isEmpty)
        }
    }

    @Test func `tokens imported before the issuer's discovery are bound to the first endpoint they are sent to`()
        async throws
    {
        // Given an import while the issuer's token endpoint is unknown
        let house = Cluster()
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: .issuer(Self.realm, tokenEndpoint: nil), discovered: Self.known)
        try await house.withReplica(endpoint) { replica in
            try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            #expect(try await house.record()?.binding.issuer == .issuer(Self.realm, tokenEndpoint: nil))

            // When the tokens are used
            _ = try await replica.engine.credential(for: alice)

            // Then they are sent to the discovered endpoint and are bound to it from then on
            #expect(endpoint.sentFor == [Self.known])
            #expect(try await house.record()?.binding.issuer == Self.known)
        }
    }

    @Test func `a record is bound to its token endpoint before its token is sent`() async throws {
        let house = Cluster()
        try await house.put(Self.record(of: .issuer(Self.realm, tokenEndpoint: nil)))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: Self.known)
        endpoint.hold()
        try await house.withReplica(endpoint) { replica in
            async let credential = replica.engine.credential(for: alice)
            try await until("the token to be sent") { endpoint.heldCount == 1 }
            let record = try await house.record()
            #expect(record?.claim != nil)
            #expect(record?.binding.issuer == Self.known)
            endpoint.release()
            _ = try await credential
        }
    }

    @Test func `a record of an earlier version is bound to its issuer once, and the log says so`() async throws {
        // Given a record that names only an origin
        let house = Cluster()
        try await house.put(Self.record(of: .origin(origin), .valid()))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: Self.known)
        try await house.withReplica(endpoint) { replica in
            // When the record is read more than once
            for _ in 1...3 { _ = await replica.engine.status(of: alice) }

            // Then it is bound without sending its token, and its tokens stay valid
            let taken = Self.record(of: Self.known, .valid())
            let record = try await house.record()
            #expect(record == taken)
            #expect(endpoint.spent.isEmpty)
            #expect(await replica.engine.status(of: alice)?.state == .valid)
        }
        #expect(house.log.lines.count { $0.contains("bound to its issuer from now on") } == 1)

        // And the tokens are not usable for another realm of that host
        endpoint.move(to: .issuer("\(origin)/realms/b", tokenEndpoint: "\(origin)/realms/b/token"))
        try await house.withReplica(endpoint) { replica in
            #expect(await replica.engine.status(of: alice)?.lastError == "bound_elsewhere")
        }
    }

    @Test func `earlier tokens are revoked at their issuer, or reported as not revoked`() async throws {
        for isMoved in [false, true] {
            let house = Cluster()
            try await house.put(Self.record(of: Self.known, .valid()))
            let endpoint = ScriptedTokenEndpoint()
            endpoint.move(
                to: isMoved ? .issuer(Self.realm, tokenEndpoint: "https://evil.example:443/token") : Self.known
            )
            try await house.withReplica(endpoint) { replica in
                let outcomes = try await replica.engine.forget(alice)
                #expect(
                    outcomes.map(\.verdict)
                        == (isMoved
                            ? [.unreachable(.notConfigured), .unreachable(.notConfigured)] : [.revoked, .revoked])
                )
                #expect(endpoint.revoked.count == (isMoved ? 0 : 2))
                #expect(endpoint.sentFor.allSatisfy { $0 == Self.known })
            }
        }
    }
}
