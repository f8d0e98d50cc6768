internal import Logging
internal import TokenModel

/// The keys of what this room says in logs.
enum LogField {
    static let account = "account.name"
    static let provider = "provider.name"
    static let generation = "token.generation"
    static let outcome = "refresh.outcome"
    static let reason = "refresh.reason"
    static let uses = "refresh.uses"
    static let code = "error.code"
}
