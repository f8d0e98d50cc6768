package import TokenModel
internal import TokenStorage

/// A sign-in as operators see it. It has no secret but ``url``, which only whoever began it gets.
package struct SignInReport: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// Waits for the answer.
        case pending
        /// The answer is being exchanged for tokens.
        case redeeming
        case done, failed, cancelled, expired
    }

    package let id: SignInID
    package let account: AccountID
    package let provider: ProviderID
    package let way: SignInWay
    package let state: State
    /// The address to open; `nil` but for whoever has just begun the sign-in.
    package internal(set) var url: String?
    /// What to enter at ``verificationURI``; `nil` but for a device whose sign-in is pending.
    package let userCode: String?
    package let verificationURI: String?
    /// An address that has the code in it.
    package let verificationURIComplete: String?
    /// The requested scopes.
    package let scopes: [String]
    /// Those that were not granted, once it is done.
    package let missingScopes: [String]
    package let failure: SignInFailure?
    package let startedAt: WallTime
    package let expiresAt: WallTime
    package let endedAt: WallTime?
}

extension SignInReport {
    init(_ record: SignInRecord, url: String? = nil, at now: WallTime) {
        let terms = record.terms
        let isOver = terms.expiresAt <= now
        var device: DeviceGrant?
        var end: SignInEnd?
        var state = isOver ? State.expired : .pending
        var failure = isOver ? SignInFailure.expired : nil
        switch record.phase {
        case .unopened, .asked: break
        case .device(let grant): device = isOver ? nil : grant
        case .redeeming(_, let until):
            state = until <= now ? .failed : .redeeming
            failure = until <= now ? .interrupted : nil
        case .ended(let ended):
            end = ended
            failure = ended.failure
            state =
                switch ended.word {
                case .done: .done
                case .failed: .failed
                case .cancelled: .cancelled
                }
        }
        self.id = terms.id
        self.account = terms.account
        self.provider = terms.binding.provider
        self.way = terms.way
        self.state = state
        self.url = url
        self.userCode = device?.userCode
        self.verificationURI = device?.verificationURI
        self.verificationURIComplete = device?.verificationURIComplete
        self.scopes = terms.scopes
        self.missingScopes = end?.missingScopes ?? []
        self.failure = failure
        self.startedAt = terms.startedAt
        self.expiresAt = terms.expiresAt
        self.endedAt = end?.at
    }
}
