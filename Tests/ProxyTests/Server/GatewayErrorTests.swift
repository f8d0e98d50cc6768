import Foundation
import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

@Suite struct GatewayErrorTests {
    /// The status of each code. The statuses are a contract with callers.
    static let statuses: [(GatewayError.Code, Int)] = [
        (.badRequest, 400), (.targetTooLong, 414), (.headTooLarge, 431), (.methodNotAllowed, 405),
        (.expectationFailed, 417), (.notImplemented, 501), (.versionUnsupported, 505), (.noRoute, 404),
        (.loopDetected, 508), (.callerUnknown, 401), (.callerForbidden, 403), (.lengthRequired, 411),
        (.bodyTimeout, 408), (.upstreamUnreachable, 502), (.upstreamReset, 502), (.upstreamInvalid, 502),
        (.upstreamTimeout, 504), (.refreshFailed, 503), (.providerConfig, 502), (.reauthorizationRequired, 503),
        (.accountEmpty, 503), (.accountUnreadable, 503), (.killed, 503), (.storeLost, 503), (.overloaded, 503),
        (.locked, 503), (.approvalRequired, 503),
    ]

    private struct Problem: Decodable {
        var type: String
        var title: String
        var status: Int
        var detail: String
        var account: String?
        var route: String?
    }

    private func parts(_ error: GatewayError, to method: HTTPMethod = .get, close: Bool = false) throws
        -> (head: ResponseHead, text: String, body: String)
    {
        let own = error.reply(to: method, close: close)
        let answer = String(buffer: own.bytes)
        let end = try #require(answer.range(of: "\r\n\r\n"))
        let head = try ResponseHead.parsed(String(answer[..<end.upperBound]), answering: method)
        let body = String(answer[end.upperBound...])
        #expect(own.bodyLength == body.utf8.count)
        return (head, String(answer[..<end.upperBound]), body)
    }

    private func problem(_ body: String) throws -> Problem {
        try JSONDecoder().decode(Problem.self, from: Data(body.utf8))
    }

    @Test func `the table names every code`() {
        #expect(Set(Self.statuses.map(\.0)) == Set(GatewayError.Code.allCases))
    }

    @Test(arguments: statuses)
    func `each code has its status in the head and in the problem document`(code: GatewayError.Code, status: Int) throws
    {
        var error = GatewayError(code, "canary: key k1 of /var/lib/martlet")
        error.account = AccountID("alice")
        error.route = "acme"

        let (head, text, body) = try self.parts(error)

        #expect(head.status == status)
        #expect(text.contains("\r\nContent-Type: application/problem+json\r\n"))
        #expect(text.contains("\r\nProxy-Status: martlet; error="))
        #expect(head.body == .length(body.utf8.count))
        let problem = try self.problem(body)
        #expect(problem.type == "urn:martlet:error:\(code.rawValue)")
        #expect(problem.status == status)
        #expect(problem.detail == "\(error.detail)" && !problem.detail.isEmpty)
        #expect(!body.contains("canary"))
        #expect(!problem.title.isEmpty)
        #expect(problem.account == "alice")
        #expect(problem.route == "acme")
    }

    @Test(arguments: GatewayError.Code.allCases)
    func `Retry-After is sent where it is promised, and nowhere else by default`(code: GatewayError.Code) throws {
        let promised: [GatewayError.Code: Int] = [
            .refreshFailed: 1, .storeLost: 1, .overloaded: 1, .locked: 30, .approvalRequired: 1,
        ]
        let (_, text, _) = try self.parts(GatewayError(code, ""))
        if let seconds = promised[code] {
            #expect(text.contains("\r\nRetry-After: \(seconds)\r\n"))
        } else {
            #expect(!text.contains("Retry-After"))
        }
    }

    @Test(arguments: [
        (Duration.zero, "1"), (.milliseconds(1), "1"), (.seconds(1), "1"), (.milliseconds(1_001), "2"),
        (.seconds(300), "300"),
        (.seconds(-5), "1"),
    ])
    func `Retry-After is in whole seconds, rounded up`(wait: Duration, seconds: String) throws {
        let (_, text, _) = try self.parts(GatewayError(.killed, "", retryAfter: wait))
        #expect(text.contains("\r\nRetry-After: \(seconds)\r\n"))
    }

    @Test func `HEAD gets the head of the response and no body`() throws {
        let error = GatewayError(.noRoute, "x")
        let (get, _, body) = try self.parts(error)
        let (head, _, nothing) = try self.parts(error, to: .head)
        #expect(nothing.isEmpty)
        #expect(head.describedLength == body.utf8.count)
        #expect(get.body == .length(body.utf8.count))
    }

    @Test(arguments: [true, false])
    func `the end of the connection is announced`(close: Bool) throws {
        let (_, text, _) = try self.parts(GatewayError(.noRoute, "x"), close: close)
        #expect(text.contains("\r\nConnection: close\r\n") == close)
    }

    @Test func `any route name becomes one JSON string`() throws {
        var error = GatewayError(.killed, "")
        error.route = "quote \" backslash \\ tab \t newline \r\n nul \u{0} umlaut ä emoji 🐦 del \u{7F}"
        let problem = try self.problem(try self.parts(error).body)
        #expect(problem.route?.contains("quote \" backslash \\ tab") == true)
        #expect(problem.route?.contains("umlaut ä emoji 🐦") == true)
    }

    @Test func `a 401 asks for a key`() throws {
        let (_, text, _) = try self.parts(GatewayError(.callerUnknown, ""))
        #expect(text.contains("\r\nWWW-Authenticate: Bearer realm=\"martlet\"\r\n"))
    }

    @Test func `a 405 lists the allowed methods`() throws {
        let (_, text, _) = try self.parts(GatewayError(.methodNotAllowed, ""))
        #expect(text.contains("\r\nAllow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"))
    }

    @Test func `every credential error has a response code of the same name`() {
        let codes = Set(GatewayError.Code.allCases.map(\.rawValue))
        #expect(CredentialError.Code.allCases.allSatisfy { codes.contains($0.rawValue) })
    }
}
