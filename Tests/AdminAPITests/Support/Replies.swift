internal import Foundation
internal import Testing

// The responses as a client decodes them that knows only the documented API.

struct Account: Decodable {
    let name: String
    let provider: String
    let configured: Bool
    let state: String
    let expires_at: String?
    let generation: Int
    let last_refresh_at: String?
    let last_error: String?
    let scopes: [String]
    let trouble: Issue?
    let unrevoked: [Removal.Token]?

    struct Issue: Decodable {
        let kind: String
        let reason: String
        let known_since: String
    }
}

struct Accounts: Decodable {
    let accounts: [Account]
    let next: String?
}

struct Removal: Decodable {
    struct Token: Decodable {
        let kind: String
        let outcome: String
        let reason: String?
        let ends_at: String?
    }

    let account: Account
    let tokens: [Token]
}

extension AccountRouteTests {
    static func now() -> Double { Date.now.timeIntervalSince1970 * 1_000 }

    /// Milliseconds since 1970 of a timestamp in the API's format.
    static func milliseconds(_ text: String) throws -> Int64 {
        #expect(text.count == 24 && text.hasSuffix("Z"))
        let date = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
        return Int64((date.timeIntervalSince1970 * 1_000).rounded())
    }
}
