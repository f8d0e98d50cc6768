import OAuth
import ProviderClient
import SignIn
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Which answer is one to a sign-in, and that it is taken once.
@Suite(.simulated) struct AnswerTests {
    /// What is no answer to the sign-in of alice that has just begun.
    static let invalid: [(String, @Sendable (SignInFixture, Replica, Begun) async throws -> String)] = [
        ("another state", { _, _, begun in Answer(state: "0123").address(for: begun.request) }),
        (
            "a state with another end",
            { _, _, begun in
                let state = String(begun.request.state.dropLast()) + (begun.request.state.hasSuffix("A") ? "B" : "A")
                return Answer(state: state).address(for: begun.request)
            }
        ),
        (
            "the state of another account's sign-in",
            { _, replica, _ in Answer().address(for: try await replica.begin(bob).request) }
        ),
        (
            "another path",
            { _, _, begun in Answer(redirectURI: "http://127.0.0.1/other").address(for: begun.request) }
        ),
        (
            "another host",
            { _, _, begun in Answer(redirectURI: "http://attacker.example/callback").address(for: begun.request) }
        ),
        (
            "another port",
            { _, _, begun in Answer(redirectURI: "http://127.0.0.1:81/callback").address(for: begun.request) }
        ),
        ("the address that the browser was sent to first", { _, _, begun in begun.report.url ?? "" }),
        ("no address", { _, _, _ in "code-1" }),
        ("nothing", { _, _, _ in "" }),
        ("no query", { _, _, begun in begun.request.redirectURI }),
        ("no state", { _, _, begun in "\(begun.request.redirectURI)?code=code-1" }),
        (
            "two states",
            { _, _, begun in "\(Answer().address(for: begun.request))&state=\(begun.request.state)" }
        ),
        ("neither a code nor an error", { _, _, begun in Answer(code: nil).address(for: begun.request) }),
        ("a code and an error", { _, _, begun in "\(Answer().address(for: begun.request))&error=x" }),
    ]

    @Test(arguments: invalid.indices)
    func `what is no answer to a sign-in is refused and consumes nothing`(index: Int) async throws {
        let (what, address) = Self.invalid[index]
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()

            // When something else comes, it is refused
            let text = try await address(fixture, replica, begun)
            let error = await #expect(throws: SignInError.self, "\(what)") {
                try await replica.service.answer(begun.report.id, with: Secret(text))
            }
            #expect(error?.code == .invalidAnswer, "\(what)")
            #expect(fixture.provider.redeemed.isEmpty)

            // Then the right answer still works
            #expect(try await replica.answer(begun).state == .done, "\(what)")
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test(arguments: [" ", "\n", "\"", "'", "<"])
    func `what surrounds a pasted address does no harm`(mark: String) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()

            let address = mark + Answer().address(for: begun.request) + mark
            let report = try await replica.service.answer(begun.report.id, with: Secret(address))
            #expect(report.state == .done)
        }
    }

    @Test func `bytes that are no text are no address`() async throws {
        try await SignInFixture.run { _, replica in
            let begun = try await replica.begin()
            let error = await #expect(throws: SignInError.self) {
                try await replica.service.answer(begun.report.id, with: Secret([0xFF, 0xFE]))
            }
            #expect(error?.code == .invalidAnswer)
        }
    }

    @Test func `a later sign-in of the account takes the place of the earlier one`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given two sign-ins of one account
            fixture.provider.answer(.tokens())
            let earlier = try await replica.begin()
            let later = try await replica.begin()

            // Then the id of the earlier one is unknown, and its state is not that of the later one
            for work in [{ try await replica.answer(earlier) }, { try await replica.report(on: earlier) }] {
                let error = await #expect(throws: SignInError.self) { try await work() }
                #expect(error?.code == .unknownSignIn)
            }
            let address = Secret(Answer().address(for: earlier.request))
            let error = await #expect(throws: SignInError.self) {
                try await replica.service.answer(later.report.id, with: address)
            }
            #expect(error?.code == .invalidAnswer)
            #expect(fixture.provider.redeemed.isEmpty)

            // And the later one works
            #expect(try await replica.answer(later).state == .done)
        }
    }

    @Test(arguments: ["", "nonsense", "a-b", "../accounts/alice", "alice"])
    func `an id that is none is unknown, and the store is not asked for it`(text: String) async throws {
        try await SignInFixture.run { _, replica in
            let begun = try await replica.begin()
            let name = begun.report.id.rawValue.prefix(32)
            for id in [text, "\(name)-\(text)", "\(name.uppercased())-\(name)", "\(name)0\(text)-\(name)"] {
                let reads = replica.store.calls.count { $0.place.hasPrefix("sign-ins/") }
                let error = await #expect(throws: SignInError.self) {
                    try await replica.service.report(on: SignInID(rawValue: id))
                }
                #expect(error?.code == .unknownSignIn)
                #expect(replica.store.calls.count { $0.place.hasPrefix("sign-ins/") } == reads, "\(id)")
            }
        }
    }

    @Test(arguments: [TokenVerdict.tokens(), .dead(.code("invalid_grant"))])
    func `an answer is taken once`(verdict: TokenVerdict) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(verdict, .tokens(2))
            let begun = try await replica.begin()
            try await replica.answer(begun)
            let before = try await replica.report(on: begun)

            // When it comes again, even with another code
            for code in ["code-1", "code-2"] {
                let error = await #expect(throws: SignInError.self) {
                    try await replica.answer(begun, Answer(code: code))
                }
                #expect(error?.code == .conflict)
            }
            #expect(fixture.provider.redeemed.count == 1)
            #expect(try await replica.report(on: begun) == before)
        }
    }

    // MARK: - Which issuer the answer is of

    /// What the provider offers, the `iss` of its answer, and why that fails.
    static let issuers: [(SignInFeatures, String?, SignInFailure.Code?)] = [
        (.usual, nil, .issuerMissing),
        (.usual, "https://login.evil.example", .issuerDiffers),
        (.usual, "https://login.acme.example/", .issuerDiffers),
        (.sample(promisesIssuer: false), "https://login.evil.example", .issuerDiffers),
        (.sample(promisesIssuer: false), nil, nil),
        (.sample(promisesIssuer: false), ScriptedProvider.issuer, nil),
        // Without a configured issuer it must be at the origin where the browser was sent.
        (.sample(promisesIssuer: false, issuer: nil), "https://login.acme.example/tenant", nil),
        (.sample(promisesIssuer: false, issuer: nil), "https://login.evil.example/tenant", .issuerDiffers),
        (.sample(promisesIssuer: false, issuer: nil), "login.acme.example", .issuerDiffers),
        (.sample(promisesIssuer: false, issuer: nil), nil, nil),
    ]

    @Test(arguments: issuers)
    func `the issuer of the answer is compared before anything is sent`(
        features: SignInFeatures,
        issuer: String?,
        failure: SignInFailure.Code?
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.features = features
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()

            let report = try await replica.answer(begun, Answer(issuer: issuer))

            #expect(report.failure?.code == failure)
            #expect(report.state == (failure == nil ? .done : .failed))
            #expect(fixture.provider.redeemed.isEmpty == (failure != nil))
            // An answer with the right state ends the sign-in, whoever it is of.
            let error = await #expect(throws: SignInError.self) { try await replica.answer(begun) }
            #expect(error?.code == .conflict)
        }
    }

    // MARK: - No

    @Test(arguments: [
        ("access_denied", SignInFailure.Code.accessDenied), ("server_error", .providerError), ("<b>", .providerError),
    ])
    func `an error of the provider ends the sign-in`(error: String, code: SignInFailure.Code) async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin()

            let report = try await replica.answer(begun, .error(error))

            #expect(report.state == .failed)
            #expect(report.failure?.code == code)
            // A text of the provider's stands in the message only if it is a code.
            #expect(report.failure?.message.contains(error) == (error != "<b>"))
            #expect(report.endedAt == fixture.clock.wall)
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test func `an error of another issuer is that issuer's, not the provider's`() async throws {
        try await SignInFixture.run { _, replica in
            let begun = try await replica.begin()
            let answer = Answer(code: nil, error: "access_denied", issuer: "https://login.evil.example")
            #expect(try await replica.answer(begun, answer).failure?.code == .issuerDiffers)
        }
    }

    @Test func `an answer comes too late after ten minutes`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens(1), .tokens(2))
            let (late, timely) = (try await replica.begin(alice), try await replica.begin(bob))

            await fixture.clock.pass(.milliseconds(599_999))
            #expect(try await replica.answer(timely).state == .done)
            await fixture.clock.pass(.milliseconds(1))

            let report = try await replica.report(on: late)
            #expect(report.state == .expired)
            #expect(report.failure?.code == .expired)
            for work in [{ try await replica.answer(late) }, { try await replica.service.cancel(late.report.id) }] {
                let error = await #expect(throws: SignInError.self) { try await work() }
                #expect(error?.code == .conflict)
            }
            #expect(fixture.provider.redeemed.count == 1)
        }
    }

    @Test func `a cancelled sign-in takes no answer and can't be cancelled again`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin()

            let report = try await replica.service.cancel(begun.report.id)
            #expect(report.state == .cancelled)
            #expect(report.endedAt == fixture.clock.wall)

            for work in [{ try await replica.answer(begun) }, { try await replica.service.cancel(begun.report.id) }] {
                let error = await #expect(throws: SignInError.self) { try await work() }
                #expect(error?.code == .conflict)
            }
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test func `a sign-in that is done can't be cancelled`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            try await replica.answer(begun)

            let error = await #expect(throws: SignInError.self) { try await replica.service.cancel(begun.report.id) }
            #expect(error?.code == .conflict)
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test(arguments: [SignInWay.gateway, .device])
    func `an operator gives the answer only where it comes by hand`(way: SignInWay) async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in, and at the gateway the answer to it, whose cookie the operator does not have
            let begun = try await replica.begin(alice, way)
            var address = Secret("http://127.0.0.1/callback?code=code-1&state=x")
            if way == .gateway {
                let url = try await replica.service.open(begun.report.id).url
                address = Secret(Answer().address(for: Query(ofAddress: url)))
            }

            // When the operator gives it, it is refused
            let error = await #expect(throws: SignInError.self) {
                try await replica.service.answer(begun.report.id, with: address)
            }
            #expect(error?.code == .conflict)
            #expect(fixture.provider.redeemed.isEmpty)
            #expect(try await replica.report(on: begun).state == .pending)
        }
    }

    @Test func `once the answer is taken, the record holds neither the verifier nor the state`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in whose record holds them
            let begun = try await replica.begin()
            let waiting = try await fixture.plaintext().text
            #expect(waiting.contains(begun.request.state))
            let records = Records()
            fixture.provider.duringNextExchange { await records.note(try? await fixture.plaintext().text) }
            fixture.provider.answer(.tokens())

            // When the answer is taken
            try await replica.answer(begun)

            // Then they are gone before the provider is asked, and afterwards
            let verifier = try #require(fixture.provider.redeemed.first?.verifier)
            #expect(waiting.contains(verifier))
            let later = await records.all + [try await fixture.plaintext().text]
            #expect(later.count == 2)
            for text in later {
                #expect(text.contains(begun.report.id.rawValue))
                #expect(!text.contains(verifier) && !text.contains(begun.request.state) && !text.contains("code-1"))
            }
        }
    }
}

/// Texts that a closure collects.
actor Records {
    private(set) var all: [String] = []
    func note(_ text: String?) { self.all += [text].compactMap { $0 } }
}
