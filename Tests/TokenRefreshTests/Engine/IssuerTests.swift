import OAuth
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Whom a refresh token goes to: the issuer that it was made by, and the endpoint that this had then.
@Suite struct IssuerTests {
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
    func `a token of another realm, or whose endpoint has moved, is not sent until it is adopted`(
        stored: TokenIssuer,
        configured: TokenIssuer
    ) async throws {
        // Given tokens of one, and another in its place
        let house = House()
        try await house.put(Self.record(of: stored))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: configured)
        try await house.withReplica(endpoint) { replica in
            // When somebody needs a token
            let error = await #expect(throws: CredentialError.self) { try await replica.engine.credential(for: alice) }

            // Then nothing is sent, nothing is lost, and the remedy is named
            #expect(error?.code == .reauthorizationRequired)
            #expect(error?.message.contains("martlet accounts adopt alice") == true)
            #expect(error?.message.contains("\(configured)") == true)
            #expect(endpoint.spent.isEmpty)
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .reauthorizationRequired)
            #expect(status?.lastError == "bound_elsewhere")
            #expect(try await house.record() == Self.record(of: stored))

            // And an operator's word is all that it takes
            try await replica.engine.adopt(alice)
            _ = try await replica.engine.credential(for: alice)
            #expect(endpoint.spent.count == 1)
            #expect(endpoint.sentFor.last == configured)
            #expect(try await house.record()?.binding.issuer == configured)
        }
    }

    @Test func `a valid access token goes on while its issuer has moved, and the move is asked about again`()
        async throws
    {
        let house = House()
        try await house.put(Self.record(of: Self.known, .valid()))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: .issuer(Self.realm, tokenEndpoint: "https://evil.example:443/token"))
        try await house.withReplica(endpoint) { replica in
            _ = try await replica.engine.credential(for: alice)
            #expect(await replica.engine.status(of: alice)?.lastError == "bound_elsewhere")
            let refreshed = await replica.engine.refreshNow(alice)
            #expect(refreshed?.refreshError == .reauthorizationRequired)
            try await eventually("somebody to doubt it") { endpoint.doubts > 0 }
            _ = try await replica.engine.credential(for: alice)
            #expect(endpoint.spent.isEmpty)
        }
    }

    @Test func `tokens that were imported before the issuer was heard of belong to the endpoint they first go to`()
        async throws
    {
        // Given an import while nobody knows where the issuer has its token endpoint
        let house = House()
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: .issuer(Self.realm, tokenEndpoint: nil), discovered: Self.known)
        try await house.withReplica(endpoint) { replica in
            try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            #expect(try await house.record()?.binding.issuer == .issuer(Self.realm, tokenEndpoint: nil))

            // When it is used
            _ = try await replica.engine.credential(for: alice)

            // Then it is sent there and nowhere else from then on
            #expect(endpoint.sentFor == [Self.known])
            #expect(try await house.record()?.binding.issuer == Self.known)
        }
    }

    @Test func `a record is bound before its token is sent`() async throws {
        let house = House()
        try await house.put(Self.record(of: .issuer(Self.realm, tokenEndpoint: nil)))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: Self.known)
        endpoint.hold()
        try await house.withReplica(endpoint) { replica in
            async let credential = replica.engine.credential(for: alice)
            try await eventually("the token to be sent") { endpoint.heldCount == 1 }
            let record = try await house.record()
            #expect(record?.claim != nil)
            #expect(record?.binding.issuer == Self.known)
            endpoint.release()
            _ = try await credential
        }
    }

    @Test func `a record of an earlier version is taken over once, and the log says so`() async throws {
        // Given one that says no more than an origin
        let house = House()
        try await house.put(Self.record(of: .origin(origin), .valid()))
        let endpoint = ScriptedTokenEndpoint()
        endpoint.move(to: Self.known)
        try await house.withReplica(endpoint) { replica in
            // When it is looked at, more than once
            for _ in 1...3 { _ = await replica.engine.status(of: alice) }

            // Then it is bound without having been sent, and goes on to be good
            let taken = Self.record(of: Self.known, .valid())
            let record = try await house.record()
            #expect(record == taken)
            #expect(endpoint.spent.isEmpty)
            #expect(await replica.engine.status(of: alice)?.state == .valid)
        }
        #expect(house.log.lines.count { $0.contains("bound to its issuer from now on") } == 1)

        // And another realm of that host does not get it any more
        endpoint.move(to: .issuer("\(origin)/realms/b", tokenEndpoint: "\(origin)/realms/b/token"))
        try await house.withReplica(endpoint) { replica in
            #expect(await replica.engine.status(of: alice)?.lastError == "bound_elsewhere")
        }
    }

    @Test func `tokens of before are revoked where they belong, or it is said that nobody was asked`() async throws {
        for isMoved in [false, true] {
            let house = House()
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
