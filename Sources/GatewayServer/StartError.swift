internal import AdminAPI
internal import OAuth
internal import ProviderClient
internal import Proxy
internal import TokenModel
package import TokenStorage

/// Why a gateway can't start, or can't apply a configuration. Two errors are equal if code and message are equal.
package struct StartError: Error, Equatable, Sendable {
    package enum Code: Sendable {
        /// A port is busy or the store can't be reached: another attempt may succeed.
        case unavailable
        /// This user may not open a port, or gave a wrong passphrase.
        case notAllowed
        /// The configuration, or a file that it names, can't be used.
        case badConfiguration
    }

    package let code: Code
    /// What failed, where, and what helps. Never contains a token.
    package let message: String
    /// What the store said, if it was the store.
    package let cause: StoreError.Code?
    /// The sealing key is not there, or is another store's.
    package let isOfKey: Bool

    package init(_ code: Code, _ message: String, cause: StoreError.Code? = nil, isOfKey: Bool = false) {
        self.code = code
        self.message = message
        self.cause = cause
        self.isOfKey = isOfKey
    }

    /// The store does not open with the key.
    var isOfWrongKey: Bool { self.isOfKey && self.cause == .unreadable }
}

extension StartError {
    package init(_ error: StoreError, store: String, isOfKey: Bool = false) {
        self.init(
            error.code == .unreachable ? .unavailable : .badConfiguration,
            "store \(store): \(error.message)",
            cause: error.code,
            isOfKey: isOfKey
        )
    }

    package init(_ error: KeyRingError) {
        let code: Code =
            switch error.code {
            case .refused: .unavailable
            case .passphraseNeeded, .passphraseWrong: .notAllowed
            case .exposed, .malformed, .missing, .inaccessible, .passphraseUnfit: .badConfiguration
            }
        self.init(code, "no sealing key: \(error.message)", isOfKey: true)
    }

    init(_ error: ProxyError) {
        self.init(error.code == .notAllowed ? .notAllowed : .unavailable, error.message)
    }

    init(_ error: AdminServerError) {
        self.init(error.code == .notAllowed ? .notAllowed : .unavailable, error.message)
    }

    init(_ error: AdminTokenError) {
        self.init(.badConfiguration, error.message)
    }

    init(_ error: ProviderSettingsError, provider: ProviderID) {
        self.init(.badConfiguration, "provider \(provider): \(error.message)")
    }

    init(_ error: ProviderURLError, provider: ProviderID) {
        self.init(.badConfiguration, "provider \(provider): \(error.message)")
    }
}
