import OAuth
import Testing
import TokenModel

@Suite struct HostileResponseTests {
    @Test(arguments: [
        ("", "answer_empty"),
        (" \r\n\t", "answer_empty"),
        ("<html><body>Sign in</body></html>", "html"),
        (#"[{"access_token":"A"}]"#, "answer_unreadable"),
        (#""access_token""#, "answer_unreadable"),
        ("null", "answer_unreadable"),
        ("{}", "access_token_unusable"),
        (#"{"access_token":null}"#, "access_token_unusable"),
        (#"{"access_token":""}"#, "access_token_unusable"),
        (#"{"access_token":17}"#, "access_token_unusable"),
        (#"{"access_token":["A"]}"#, "access_token_unusable"),
        (#"{"access_token":"A\r\nX-Evil: 1"}"#, "access_token_unusable"),
        (#"{"access_token":"A\u0000"}"#, "access_token_unusable"),
        (#"{"access_token":"A B"}"#, "access_token_unusable"),
        (#"{"access_token":"\u007f"}"#, "access_token_unusable"),
        (#"{"access_token":"é"}"#, "access_token_unusable"),
        (#"{"access_token":"\ud83d\ude00"}"#, "access_token_unusable"),
        ("{\"access_token\":\"A\u{0}\"}", "answer_unreadable"),
        ("{\"access_token\":\"A\n\"}", "answer_unreadable"),
        (#"{"access_token":"\ud83d"}"#, "answer_unreadable"),
        (#"{"access_token":"\udc00\ud83d"}"#, "answer_unreadable"),
        (#"{"access_token":"\x41"}"#, "answer_unreadable"),
        (#"{"access_token":"A","access_token":"B"}"#, "answer_unreadable"),
        (#"{"access_token":"A"} {}"#, "answer_unreadable"),
        (#"{"access_token":"A",}"#, "answer_unreadable"),
        (#"{"access_token":"A","n":01}"#, "answer_unreadable"),
        (#"{"access_token":"A","n":+1}"#, "answer_unreadable"),
        (#"{"access_token":"A","n":.5}"#, "answer_unreadable"),
        (#"{"access_token":"A","n":NaN}"#, "answer_unreadable"),
        (#"{"access_token":"A","n":tru}"#, "answer_unreadable"),
        (#"{'access_token':'A'}"#, "answer_unreadable"),
        (#"{"access_token":"A","refresh_token":17}"#, "answer_unreadable"),
        (#"{"access_token":"A","refresh_token":"R\n"}"#, "answer_unreadable"),
        (#"{"access_token":"A""#, "answer_cut_short"),
        (#"{"access_token":"A"#, "answer_cut_short"),
        ("{", "answer_cut_short"),
    ])
    func `an unusable 2xx is ambiguous, because the provider may have issued tokens`(body: String, code: String) {
        #expect(verdict(answer(200, body)) == .ambiguous(reason(code)))
    }

    @Test(arguments: [
        ("access_token=A&access_token=B", "answer_unreadable"),
        ("access_token=A%0", "answer_unreadable"),
        ("access_token=A%zz", "answer_unreadable"),
        ("access_token=A B", "answer_unreadable"),
        ("access_token=A%0d%0aX", "access_token_unusable"),
        ("access_token=A+B", "access_token_unusable"),
        ("access_token", "access_token_unusable"),
        ("&&=&", "access_token_unusable"),
        ("token_type=mac&access_token=A", "token_type_unknown"),
    ])
    func `forms are read as strictly as JSON`(body: String, code: String) {
        let outcome = answer(200, body, type: "application/x-www-form-urlencoded")
        #expect(verdict(outcome) == .ambiguous(reason(code)))
    }

    @Test func `a body that is not UTF-8 is not read`() {
        let body = Array(#"{"access_token":"A","x":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        let outcome = ExchangeOutcome.responded(ProviderResponse(status: 200, body: Secret(body), bodyEnd: .proven))
        #expect(verdict(outcome) == .ambiguous(.answerUnreadable))
    }

    @Test func `a response nested 16 levels deep is read, a deeper one is not`() {
        func nested(_ depth: Int) -> String {
            let inner = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
            return #"{"x":\#(inner),"access_token":"A"}"#
        }
        #expect(grant(answer(200, nested(16))) != nil)
        #expect(verdict(answer(200, nested(17))) == .ambiguous(.answerTooLarge))
        #expect(verdict(answer(200, nested(10_000))) == .ambiguous(.answerTooLarge))
        #expect(verdict(answer(200, String(repeating: #"{"x":"#, count: 10_000))) == .ambiguous(.answerTooLarge))
        #expect(verdict(answer(400, nested(17))) == .notProvider(.answerTooLarge))
    }

    @Test func `a response of 64 KiB is read, a larger one is not`() {
        func sized(_ count: Int) -> String {
            let start = #"{"access_token":"A","x":""#
            return start + String(repeating: "y", count: count - start.utf8.count - 2) + #""}"#
        }
        #expect(grant(answer(200, sized(65_536))) != nil)
        #expect(verdict(answer(200, sized(65_537))) == .ambiguous(.answerTooLarge))
        #expect(verdict(answer(200, sized(1_000), end: .tooLarge)) == .ambiguous(.answerTooLarge))
        #expect(verdict(answer(400, sized(1_000_000))) == .notProvider(.answerTooLarge))
    }

    @Test func `a compressed response is not read`() {
        let body = #"{"access_token":"A"}"#
        for encoding in ["gzip", "br", "GZIP, identity", "deflate"] {
            #expect(verdict(answer(200, body, encoding: encoding)) == .ambiguous(.answerCompressed))
        }
        for encoding in ["identity", "Identity", ""] {
            #expect(grant(answer(200, body, encoding: encoding)) != nil)
        }
        #expect(verdict(answer(400, body, encoding: "gzip")) == .notProvider(.answerCompressed))
    }

    @Test func `a cut response is a success only if its object is complete`() {
        let body = Array(#"{"access_token":"A1","refresh_token":"R2","expires_in":3600} "#.utf8)
        for count in 0..<body.count {
            let cut = answer(200, String(decoding: body[..<count], as: UTF8.self), end: .cut)
            if count >= body.count - 1 {
                #expect(grant(cut)?.refreshToken == Secret("R2"))
            } else {
                #expect(verdict(cut) == .ambiguous(.answerCutShort), "cut at byte \(count)")
            }
        }
    }

    @Test func `a form without a proven end is not used, because it may hold half a token`() {
        for end in [ProviderResponse.BodyEnd.assumed, .cut] {
            let form = answer(200, "access_token=A", type: "application/x-www-form-urlencoded", end: end)
            #expect(verdict(form) == .ambiguous(.answerCutShort))
        }
        #expect(grant(answer(200, #"{"access_token":"A"}"#, end: .assumed)) != nil)
    }

    @Test func `no input ends the process or yields a token that breaks a header`() {
        var random = SeededGenerator(seed: 20_261_119)
        let seeds = [
            #"{"access_token":"A1","token_type":"Bearer","expires_in":3600,"refresh_token":"R2","scope":"a b"}"#,
            #"{"ok":false,"error":"invalid_grant","error_description":"multiple concurrent requests \ud83d\ude00"}"#,
            #"{"access_token":"e30.eyJleHAiOjE3OTUwOTMyMDB9.e30","expires_in":-1.5e+300,"x":[[{"y":[null,true]}]]}"#,
            "access_token=A%2B1&expires_in=3600&refresh_token=R2&scope=a+b&error=",
        ].map { Array($0.utf8) }
        let classifier = ResponseClassifier()
        var successes = 0

        for round in 0..<20_000 {
            let body =
                round.isMultiple(of: 4)
                ? (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                : random.mutation(of: seeds[round % seeds.count])
            let outcome = ExchangeOutcome.responded(
                ProviderResponse(
                    status: [200, 200, 400, 429, 503, 302, 0, -1, 999][Int.random(in: 0..<9, using: &random)],
                    contentType: ["application/json", "text/plain", nil][Int.random(in: 0..<3, using: &random)],
                    contentEncoding: round.isMultiple(of: 7) ? random.text() : nil,
                    retryAfter: random.text(),
                    date: random.text(),
                    body: Secret(body),
                    bodyEnd: ProviderResponse.BodyEnd.allCases[Int.random(in: 0..<4, using: &random)]
                )
            )

            _ = classifier.revocationVerdict(on: outcome)
            switch classifier.tokenVerdict(on: outcome, now: noon) {
            case .success(let grant):
                successes += 1
                #expect(!grant.accessToken.isEmpty)
                #expect(grant.accessToken.text.utf8.allSatisfy { (0x21...0x7E).contains($0) })
                #expect(grant.lifetime >= .seconds(1) && grant.lifetime <= .seconds(86_400))
                #expect(grant.refreshToken?.isEmpty != true)
            case .rotated(let token, _):
                #expect(!token.refreshToken.isEmpty)
            case .throttled(let wait):
                #expect(wait >= .seconds(1) && wait <= .seconds(300))
            case .dead, .config, .accountConfig, .notSent, .ambiguous, .conflict, .refused, .notProvider:
                break
            }
        }
        // Some mutations must still be successes, so that the checks above run.
        #expect(successes > 100)
    }
}
