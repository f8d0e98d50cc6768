import Proxy
import Synchronization
import TokenModel

/// A source of credentials that a test plays.
final class ScriptedCredentials: CredentialSource {
    /// A question of the gateway for a credential, which waits for its answer.
    final class Question: Sendable {
        let account: AccountID
        let refused: TokenVersion?
        private let continuation: Mutex<CheckedContinuation<Result<UpstreamCredential, CredentialError>, Never>?>

        init(
            _ account: AccountID,
            _ refused: TokenVersion?,
            _ continuation: CheckedContinuation<Result<UpstreamCredential, CredentialError>, Never>
        ) {
            self.account = account
            self.refused = refused
            self.continuation = Mutex(continuation)
        }

        func answer(_ result: Result<UpstreamCredential, CredentialError>) {
            let continuation = self.continuation.withLock { continuation in
                defer { continuation = nil }
                return continuation
            }
            continuation?.resume(returning: result)
        }
    }

    private struct State {
        var current: [AccountID: UpstreamCredential] = [:]
        var questions: [Question] = []
        var isOver = false
        var existing: Set<AccountID> = []
    }

    private let state = Mutex(State())
    private let askings = Atomic(0)
    /// The number of questions, including those answered with a held credential.
    var asked: Int { self.askings.load(ordering: .relaxed) }
    /// Questions that the test must answer.
    let questions = Mailbox<Question>()
    /// Tokens that requests have carried.
    let used = Mailbox<TokenVersion>()
    /// Runs on the event loop when a request has just taken a connection and carries a token for the first time. The
    /// event loop is stalled until it returns.
    let whileUsing = Mutex<(@Sendable () -> Void)?>(nil)
    /// Tokens that an upstream accepted.
    let accepted = Mailbox<TokenVersion>()
    /// Tokens that an upstream refused although the gateway had got them after a 401.
    let refusedAgain = Mailbox<TokenVersion>()

    /// Answers questions with `credential` from now on, except those that refuse this very credential.
    func hold(_ credential: UpstreamCredential?, for account: AccountID) {
        self.state.withLock { $0.current[account] = credential }
    }

    /// Accounts of families that exist from now on.
    func add(_ accounts: AccountID...) { self.state.withLock { $0.existing.formUnion(accounts) } }

    func knows(_ account: AccountID) -> Bool { self.state.withLock { $0.existing.contains(account) } }

    func credential(for account: AccountID, refused: TokenVersion?) async throws(CredentialError) -> UpstreamCredential
    {
        self.askings.add(1, ordering: .relaxed)
        let current = self.state.withLock { $0.current[account] }
        if let current, TokenVersion(current) != refused { return current }
        let result = await withCheckedContinuation { continuation in
            let question = Question(account, refused, continuation)
            let isOver = self.state.withLock { state in
                state.questions.append(question)
                return state.isOver
            }
            if isOver { question.answer(.failure(CredentialError(.overloaded, "the test is over"))) }
            self.questions.put(question)
        }
        return try result.get()
    }

    func used(_ token: TokenVersion, of account: AccountID) {
        self.whileUsing.withLock { $0 }?()
        self.used.put(token)
    }

    func accepted(_ token: TokenVersion, of account: AccountID) {
        self.accepted.put(token)
    }

    func refusedAgain(_ token: TokenVersion, of account: AccountID) {
        self.refusedAgain.put(token)
    }

    /// Answers all open questions with an error.
    func end() {
        let questions = self.state.withLock { state in
            state.isOver = true
            return state.questions
        }
        for question in questions { question.answer(.failure(CredentialError(.overloaded, "the test is over"))) }
    }
}
