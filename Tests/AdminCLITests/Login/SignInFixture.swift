internal import AdminCLI
internal import Foundation
internal import Synchronization
internal import TestKit
internal import Testing
internal import TokenModel

/// Responses of the admin API about sign-ins.
enum SignInFixture {
    /// The JSON of a sign-in that started at the time of ``ManualClock`` and lasts ten minutes.
    static func json(
        state: String,
        missing: [String] = [],
        error: (code: String, message: String)? = nil,
        device: Bool = false
    ) throws -> String {
        let members: [String: Any] = [
            "id": "a/b", "account": "alice", "provider": "acme", "way": "loopback", "state": state,
            "url": state == "pending" && !device ? "https://id.example/authorize?state=s" : NSNull(),
            "user_code": device ? "WDJB-MJHT" : NSNull(),
            "verification_uri": device ? "https://id.example/device" : NSNull(),
            "verification_uri_complete": device ? "https://id.example/device?c=WDJB-MJHT" : NSNull(),
            "scopes": ["read"], "missing_scopes": missing,
            "error": error.map { ["code": $0.code, "message": $0.message] } ?? NSNull(),
            "started_at": "2026-01-01T00:00:00.000Z", "expires_at": "2026-01-01T00:10:00.000Z", "ended_at": NSNull(),
        ]
        return String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
    }

    static func signIn(
        state: String,
        missing: [String] = [],
        error: (code: String, message: String)? = nil,
        device: Bool = false
    ) throws -> SignInReply {
        try Self.reply(Self.json(state: state, missing: missing, error: error, device: device)).read()
    }

    static func reply(_ json: String, _ status: Int = 200) -> AdminReply {
        AdminReply(httpStatus: status, body: Array(json.utf8))
    }

    static func problem(_ status: Int, _ code: String, field: String? = nil, expected: String? = nil) -> AdminReply {
        let others = [("field", field), ("expected", expected)].compactMap { name, value in
            value.map { #","\#(name)":"\#($0)""# }
        }
        return Self.reply(#"{"type":"urn:martlet:error:\#(code)","detail":"because"\#(others.joined())}"#, status)
    }
}

/// A test's steps went another way than they must.
struct UnexpectedCourse: Error {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A gateway that gives prepared responses in turn, and keeps the requests.
final class FakeSignInGateway: SignInGateway {
    /// One response.
    enum Act: Sendable {
        case reply(AdminReply)
        /// The connection breaks.
        case silence
    }

    private let acts: Mutex<[Act]>
    private let heard = Mutex<[String]>([])

    init(_ acts: [Act]) {
        self.acts = Mutex(acts)
    }

    /// The requests: method, path and body.
    var requests: [String] { self.heard.withLock { $0 } }

    func exchange(_ request: AdminRequest) async throws(CommandFailure) -> AdminReply {
        let line = "\(request.method.rawValue) \(request.path) \(String(decoding: request.body, as: UTF8.self))"
        self.heard.withLock { $0.append(line) }
        let act = self.acts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        switch act {
        case .reply(let reply): return reply
        case .silence: throw CommandFailure(.unavailable, "can't reach the gateway")
        case nil: throw CommandFailure(.badConfiguration, "the test prepared no response to \(line)")
        }
    }

    func refusal(in reply: AdminReply, of attempt: String) -> CommandFailure? { reply.failure(of: attempt) }
}
