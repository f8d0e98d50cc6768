internal import AdminAPI
internal import OAuth
internal import ProviderClient
internal import Proxy
internal import TokenModel
internal import TokenStorage

/// Failures that prevent a start. The exit code tells whether another attempt may succeed.
extension CommandFailure {
    init(_ error: StoreError, store: String) {
        self.init(error.code == .unreachable ? .unavailable : .badConfiguration, "store \(store): \(error.message)")
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
