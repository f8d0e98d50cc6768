internal import HTTPTypes

/// What a browser is told about every answer of the dashboard.
enum DashboardFields {
    /// Nothing from elsewhere, nothing inline, in nobody's frame; and no text of a script's becomes markup.
    private static let contentPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'",
        "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'",
    ].joined(separator: "; ")

    static let all: HTTPFields = {
        var fields: HTTPFields = [:]
        fields[.contentSecurityPolicy] = Self.contentPolicy
        fields[.crossOriginResourcePolicy] = "same-origin"
        fields["Cross-Origin-Opener-Policy"] = "same-origin"
        // Not `no-referrer`: with that some browsers send no usable `Origin` either.
        fields["Referrer-Policy"] = "same-origin"
        return fields
    }()
}

extension HTTPFields {
    /// For fields whose name the library does not know.
    subscript(_ name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
