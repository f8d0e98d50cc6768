internal import SignIn
internal import TokenModel

/// A sign-in as an operator begins it.
struct SignInRequest: Equatable, Sendable {
    let account: AccountID
    let way: SignInWay
    /// Where the operator's command listens.
    let redirectURI: String?
    /// Whether somebody else than before may sign in; default `false`.
    let replacesSubject: Bool

    private static let fields = ["account", "way", "redirect_uri", "replace_subject"]

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.account = try fields.account("account")
        let way = try fields.textIfPresent("way").map(SignInWay.init)
        guard let way, let way else {
            let ways = SignInWay.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw .invalidField("way", "way is none of \(ways)")
        }
        self.way = way
        self.redirectURI = try fields.textIfPresent("redirect_uri")
        self.replacesSubject = try fields.flagIfPresent("replace_subject") ?? false
        try fields.finish(expected: Self.fields)
    }
}

/// The answer to a sign-in: the address that the browser was sent to, which has the code in it.
struct SignInAnswer: Equatable, Sendable {
    let address: Secret

    init(_ body: [UInt8]) throws(AdminError) {
        var fields = try JSONFields(body)
        self.address = try fields.secret("answer")
        try fields.finish(expected: ["answer"])
    }
}
