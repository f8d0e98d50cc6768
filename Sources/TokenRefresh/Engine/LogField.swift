internal import Logging
internal import TokenModel

/// The log metadata keys of this module.
enum LogField {
    static let account = "account.name"
    static let provider = "provider.name"
    static let issuer = "provider.issuer"
    static let generation = "token.generation"
    static let foundGeneration = "token.generation_found"
    static let endsAt = "token.ends_at"
    static let retryAfter = "refresh.retry_after_seconds"
    static let reason = "refresh.reason"
    static let uses = "refresh.uses"
    static let event = "event.name"
    static let code = "error.code"
    static let message = "error.reason"
}
