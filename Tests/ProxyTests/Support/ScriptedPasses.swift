import Proxy
import Synchronization
import TokenModel

/// A source of credentials that a test answers for.
final class ScriptedPasses: CredentialSource {
    /// A question of the gateway, waiting for its answer.
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
    }

    private let state = Mutex(State())
    private let askings = Atomic(0)
    /// How often it was asked, whoever answered.
    var asked: Int { self.askings.load(ordering: .relaxed) }
    /// Questions that the test must answer.
    let questions = Mailbox<Question>()
    /// Tokens that requests have carried.
    let used = Mailbox<TokenVersion>()
    /// Runs on the event loop when a request has just taken a connection and carries a token for the first time: while
    /// it runs, that loop stands still.
    let whileUsing = Mutex<(@Sendable () -> Void)?>(nil)
    /// Tokens that an upstream took.
    let accepted = Mailbox<TokenVersion>()
    /// Tokens that an upstream refused although they had been brought for a 401.
    let refusedAgain = Mailbox<TokenVersion>()

    /// From now on it answers with `credential` whoever does not refuse just that.
    func hold(_ credential: UpstreamCredential?, for account: AccountID) {
        self.state.withLock { $0.current[account] = credential }
    }

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

    /// Answers what was left unanswered.
    func end() {
        let questions = self.state.withLock { state in
            state.isOver = true
            return state.questions
        }
        for question in questions { question.answer(.failure(CredentialError(.overloaded, "the test is over"))) }
    }
}
