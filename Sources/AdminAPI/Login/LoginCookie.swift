internal import HTTPTypes
internal import SignIn
internal import TokenModel

/// The cookie that ties a provider's answer to the browser that began the sign-in. Without it, somebody could have
/// another person complete their sign-in (RFC 6749 §10.12).
///
/// Each sign-in has one of its own, so that two windows don't disturb each other. `SameSite=Lax`, because the provider's
/// redirect comes from another site.
struct LoginCookie {
    private let name: String
    private let attributes: String

    init(of id: SignInID, at site: LoginSite) {
        self.name = Self.prefix(at: site) + id.rawValue.drop { $0 != "-" }.dropFirst().prefix(Self.length)
        // With the prefix __Secure-, a browser takes the cookie only from pages over TLS (RFC 6265bis §4.1.3.1).
        self.attributes = "; Path=/login/; HttpOnly; SameSite=Lax\(site.isSecure ? "; Secure" : "")"
    }

    /// The value of `Set-Cookie` that sets the cookie for the time of a sign-in.
    func setting(_ value: Secret) -> String { "\(self.name)=\(value.unredactedText)\(self.attributes); Max-Age=600" }

    /// The value of `Set-Cookie` that deletes the cookie.
    var deletion: String { "\(self.name)=\(self.attributes); Max-Age=0" }

    /// The values of the cookies that a sign-in may have set.
    ///
    /// A page on another port or, without TLS, on a sibling host can add any number of them. Browsers send the older ones
    /// first among those of one path, so the last ``mostCookies`` count.
    static func values(in fields: HTTPFields, at site: LoginSite) -> [Secret] {
        let prefix = Self.prefix(at: site)
        let cookies = fields[values: .cookie].flatMap { field in
            field.split(separator: ";").map { $0.drop { $0 == " " } }
        }
        let values = cookies.compactMap { cookie -> Secret? in
            let rest = cookie.dropFirst(prefix.count)
            guard cookie.hasPrefix(prefix), rest.dropFirst(Self.length).hasPrefix("=") else { return nil }
            return Secret(String(rest.dropFirst(Self.length + 1)))
        }
        return values.suffix(Self.mostCookies)
    }

    private static let mostCookies = 8
    /// How much of an id's random part the name has.
    private static let length = 12

    private static func prefix(at site: LoginSite) -> String {
        (site.isSecure ? "__Secure-" : "") + "martlet-sign-in-"
    }
}
