internal import TokenModel
internal import TokenRefresh

/// A line of a bulk import: the tokens of one account, or why the line has none.
struct ImportLine: Sendable {
    let number: Int
    let content: Content

    enum Content: Sendable {
        case tokens(TokenImport, of: AccountID)
        /// - Parameter of: the account, if the line names one.
        case fault(AdminError, of: AccountID?)
    }

    /// The most bytes of a line without its end. Two tokens of the greatest length fit.
    static let longest = 64 << 10

    /// Reads `{"account": NAME, "tokens": {…}}`. An error repeats nothing of the line.
    init(_ line: LineSplitter.Line) {
        self.number = line.number
        var account: AccountID?
        do throws(AdminError) {
            guard let bytes = line.bytes else {
                throw .invalidField("line", "the line has more than \(Self.longest) bytes")
            }
            var fields = try JSONFields(bytes, of: "line")
            let named = try fields.account("account")
            account = named
            let tokens = try TokenImport(try fields.fields("tokens"), isResponse: true)
            try fields.finish(expected: ["account", "tokens"])
            self.content = .tokens(tokens, of: named)
        } catch {
            self.content = .fault(error, of: account)
        }
    }
}

extension AccountImport {
    init(_ tokens: TokenImport, of account: AccountID) {
        self.init(
            account,
            refreshToken: tokens.refreshToken,
            accessToken: tokens.accessToken,
            expiresIn: tokens.expiresIn,
            scopes: tokens.scopes
        )
    }
}
