import OAuth
import TestKit
import TokenModel

/// A provider that rotates refresh tokens at once, gives no grace for an old one, and answers late or never.
struct RotatingProvider {
    /// The one refresh token that it takes.
    private(set) var live = "rt-0"
    private(set) var issued = 0
    /// Which token set each refresh token belongs to.
    private var marks: [String: TokenVersion]
    private var underWay: [TokenVersion: Int] = [:]
    private let lifetime: Duration

    /// - Parameters:
    ///   - mark: the token set that `rt-0` belongs to.
    ///   - lifetime: of each access token.
    init(_ tokenVersion: TokenVersion, lifetime: Duration) {
        self.marks = ["rt-0": tokenVersion]
        self.lifetime = lifetime
    }

    /// Which token set a refresh token belongs to; `nil`: it was never issued.
    func tokenVersion(of refreshToken: Secret) -> TokenVersion? { self.marks[refreshToken.text] }

    /// A request arrives.
    ///
    /// - Returns: how many with a refresh token of that token set are under way, this one among them.
    mutating func begin(_ tokenVersion: TokenVersion) -> Int {
        self.underWay[tokenVersion, default: 0] += 1
        return self.underWay[tokenVersion, default: 0]
    }

    /// It was answered, or its connection has ended.
    mutating func end(_ tokenVersion: TokenVersion) { self.underWay[tokenVersion, default: 0] -= 1 }

    /// Takes the refresh token.
    ///
    /// - Returns: the answer, whether or not anybody hears it.
    mutating func redeem(_ refreshToken: Secret, of tokenVersion: TokenVersion) -> TokenVerdict {
        guard refreshToken.text == self.live else { return .dead(.code("invalid_grant")) }
        self.issued += 1
        self.live = "rt-\(self.issued)"
        self.marks[self.live] = TokenVersion(grant: tokenVersion.grant, generation: tokenVersion.generation.next)
        return .success(.sample(self.issued, lifetime: self.lifetime))
    }
}
