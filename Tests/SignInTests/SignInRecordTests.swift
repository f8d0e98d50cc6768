import OAuth
import SignIn
import Simulation
import Testing
import TokenModel
import TokenStorage

/// The bytes of sign-ins in the store.
@Suite(.simulated) struct SignInRecordTests {
    /// The records of one sign-in for each phase and each end, as a gateway writes them.
    private static func all(_ fixture: SignInFixture, _ replica: Replica) async throws -> [(String, Secret)] {
        let records = Phases()
        func note(_ phase: String) async throws { await records.note(phase, try await fixture.plaintext()) }

        let gateway = try await replica.begin(alice, .gateway)
        try await note("unopened")
        _ = try await replica.service.open(gateway.report.id)
        try await note("asked, with a cookie")
        let begun = try await replica.begin(replacesSubject: true)
        try await note("asked")
        fixture.provider.duringNextExchange { await records.note("redeeming", try? await fixture.plaintext()) }
        fixture.provider.answer(.tokens(scopes: ["read"], idToken: "id-token"))
        try await replica.answer(begun)
        try await note("done")
        let denied = try await replica.begin()
        try await replica.answer(denied, .error("access_denied"))
        try await note("failed")
        fixture.provider.features = .sample(promisesIssuer: false, issuer: nil)
        let device = try await replica.begin(alice, .device)
        try await note("device")
        _ = try await replica.service.cancel(device.report.id)
        try await note("cancelled")
        fixture.provider.features = .sample(promisesIssuer: false)
        _ = try await replica.begin()
        try await note("asked, with an optional issuer")
        return await records.all
    }

    @Test func `each phase is decoded as it was encoded`() async throws {
        try await SignInFixture.run(scopes: ["read", "openid", "write"]) { fixture, replica in
            let records = try await Self.all(fixture, replica)
            #expect(records.count == 9)
            #expect(Set(records.map { $0.1.text }).count == 9)
            for (phase, bytes) in records {
                let record = try SignInRecord(decoding: bytes)
                #expect(record.encoded() == bytes, "\(phase)")
                #expect(try SignInRecord(decoding: record.encoded()) == record, "\(phase)")
            }
        }
    }

    @Test func `truncated, extended and changed bytes are an error or another record`() async throws {
        try await SignInFixture.run(scopes: ["read", "openid"]) { fixture, replica in
            for (phase, secret) in try await Self.all(fixture, replica) {
                let bytes = secret.withUnredacted { span in span.indices.map { span[$0] } }
                for count in bytes.indices {
                    #expect(throws: StoreError(.unreadable, ""), "the first \(count) bytes of \(phase)") {
                        try SignInRecord(decoding: Secret(bytes.prefix(count)))
                    }
                }
                #expect(throws: StoreError(.unreadable, "")) { try SignInRecord(decoding: Secret(bytes + [0])) }
                for index in bytes.indices {
                    for value in [0x00, 0x01, 0x7F, 0xFF, bytes[index] ^ 1] as [UInt8] {
                        var changed = bytes
                        changed[index] = value
                        // Whatever is read can be written again.
                        guard let record = try? SignInRecord(decoding: Secret(changed)) else { continue }
                        #expect(try SignInRecord(decoding: record.encoded()) == record, "byte \(index) of \(phase)")
                    }
                }
            }
        }
    }

    @Test func `there is one record for each account, and its key does not name the account`() async throws {
        try await SignInFixture.run { fixture, replica in
            for account in [alice, bob, alice] { _ = try await replica.begin(account) }

            let keys = try await fixture.signInKeys()
            #expect(keys.count == 2)
            #expect(!keys.contains { $0.rawValue.contains("alice") || $0.rawValue.contains("bob") })
        }
    }

    @Test func `another store has other names for the accounts`() async throws {
        let (one, two) = (SignInFixture(), SignInFixture())
        for fixture in [one, two] { try await fixture.run(["a"]) { replicas in _ = try await replicas[0].begin() } }
        let (first, second) = (try await one.signInKeys(), try await two.signInKeys())
        #expect(first != second)
    }
}

/// Records that a closure collects, each with its phase.
private actor Phases {
    private(set) var all: [(String, Secret)] = []
    func note(_ phase: String, _ bytes: Secret?) { if let bytes { self.all.append((phase, bytes)) } }
}
