import OAuth
import TestKit
import TokenModel

/// A provider that rotates refresh tokens at once and accepts no old one. Its responses may come late or never.
struct RotatingProvider {
    /// The only refresh token that the provider accepts.
    private(set) var live = "rt-0"
    private(set) var issued = 0
    /// Which token set each refresh token belongs to.
    private var marks: [String: TokenVersion]
    private var underWay: [TokenVersion: Int] = [:]
    private let lifetime: Duration

    /// - Parameters:
    ///   - tokenVersion: the token set that `rt-0` belongs to.
    ///   - lifetime: the lifetime of each access token.
    init(_ tokenVersion: TokenVersion, lifetime: Duration) {
        self.marks = ["rt-0": tokenVersion]
        self.lifetime = lifetime
    }

    /// Which token set a refresh token belongs to; `nil` if it was never issued.
    func tokenVersion(of refreshToken: Secret) -> TokenVersion? { self.marks[refreshToken.text] }

    /// Records that a request arrives.
    ///
    /// - Returns: the number of requests in progress with a refresh token of that token set, including this one.
    mutating func begin(_ tokenVersion: TokenVersion) -> Int {
        self.underWay[tokenVersion, default: 0] += 1
        return self.underWay[tokenVersion, default: 0]
    }

    /// Records that a request got its response, or that its connection has ended.
    mutating func end(_ tokenVersion: TokenVersion) { self.underWay[tokenVersion, default: 0] -= 1 }

    /// Redeems the refresh token.
    ///
    /// - Returns: the response, which may get lost on its way.
    mutating func redeem(_ refreshToken: Secret, of tokenVersion: TokenVersion) -> TokenVerdict {
        guard refreshToken.text == self.live else { return .dead(.code("invalid_grant")) }
        self.issued += 1
        self.live = "rt-\(self.issued)"
        self.marks[self.live] = TokenVersion(grant: tokenVersion.grant, generation: tokenVersion.generation.next)
        return .success(.sample(self.issued, lifetime: self.lifetime))
    }
}
