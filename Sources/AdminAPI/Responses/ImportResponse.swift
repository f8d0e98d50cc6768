internal import TokenModel
internal import TokenRefresh

/// What came of one line of a bulk import, as the API shows it. Members without a value are left out.
struct ImportedLineResponse: Encodable, Equatable, Sendable {
    /// The outcome in one word.
    enum Word: String, Encodable, Sendable, CaseIterable {
        case imported, replaced, skipped, refused
    }

    let line: Int
    /// Left out of a line that names no account that this administrator may import: the name may be a misplaced token.
    let account: String?
    let result: Word
    /// Why, for programs: `exists`, `imported_before`, `family_full`, `killed`, `forbidden` or the code of an error.
    let reason: String?
    /// Why, for people.
    let message: String?

    private static let forbidden = "forbidden"
    /// Whether the line names an account that is not this administrator's.
    var isOverstep: Bool { self.reason == Self.forbidden }

    private init(_ line: Int, _ account: AccountID?, _ result: Word, reason: String? = nil, message: String? = nil) {
        self.line = line
        self.account = account?.rawValue
        self.result = result
        self.reason = reason
        self.message = message
    }

    init(_ line: Int, _ account: AccountID, _ outcome: ImportOutcome) {
        switch outcome {
        case .imported, .replaced: self.init(line, account, outcome.word)
        case .exists: self.init(line, account, outcome.word, reason: "exists")
        case .importedBefore: self.init(line, account, outcome.word, reason: "imported_before")
        case .refused(let error):
            let reason: String? =
                switch error.code {
                case .exists: "exists"
                case .familyFull: "family_full"
                case .killed: "killed"
                case .notConfigured, .minted, .subjectDiffers, .invalidTokens, .unreadable, .storeLost: nil
                }
            self.init(line, account, refusedBy: AdminError(error, account: account), reason: reason)
        }
    }

    /// - Parameter account: `nil` if its name must not be shown.
    init(_ line: Int, _ account: AccountID?, refusedBy error: AdminError, reason: String? = nil) {
        let code = error.code == .roleForbidden ? Self.forbidden : error.code.rawValue
        self.init(line, account, .refused, reason: reason ?? code, message: error.message)
    }
}

/// The last line of the response to a bulk import. If it is missing, the connection broke.
struct ImportEndResponse: Encodable, Equatable, Sendable {
    let done = true
    private(set) var imported = 0
    private(set) var replaced = 0
    private(set) var skipped = 0
    private(set) var refused = 0

    mutating func count(_ result: ImportedLineResponse.Word) {
        switch result {
        case .imported: self.imported += 1
        case .replaced: self.replaced += 1
        case .skipped: self.skipped += 1
        case .refused: self.refused += 1
        }
    }

    /// The numbers for the audit log.
    var summary: String {
        "\(self.imported) imported, \(self.replaced) replaced, \(self.skipped) skipped, \(self.refused) refused"
    }
}

extension ImportOutcome {
    /// The outcome in one word.
    var word: ImportedLineResponse.Word {
        switch self {
        case .imported: .imported
        case .replaced: .replaced
        case .exists, .importedBefore: .skipped
        case .refused: .refused
        }
    }
}
