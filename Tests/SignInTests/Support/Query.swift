import TextCoding
import TokenModel

/// The parameters behind the `?` of an address, decoded.
struct Query: Sendable {
    private let values: [String: String]

    init(ofAddress address: String) {
        var values: [String: String] = [:]
        for pair in address.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            let value = Array(pair.dropFirst(name.count + 1).utf8)
            values[String(name)] = PercentCoding.decode(value.span, isForm: true)
                .map { String(decoding: $0, as: UTF8.self) }
        }
        self.values = values
    }

    subscript(name: String) -> String? { self.values[name] }
    var state: String { self["state"] ?? "" }
    var redirectURI: String { self["redirect_uri"] ?? "" }
    var scopes: [String] { self["scope"]?.split(separator: " ").map(String.init) ?? [] }
}

/// What a provider sends back through the browser, by default a code and all that belongs to it.
struct Answer: Sendable {
    var code: String? = "code-1"
    var error: String?
    var issuer: String? = ScriptedProvider.issuer
    /// In place of the request's.
    var state: String?
    /// In place of the request's.
    var redirectURI: String?

    static func error(_ code: String) -> Answer { Answer(code: nil, error: code) }

    func address(for request: Query) -> String {
        "\(self.redirectURI ?? request.redirectURI)?\(self.query(for: request))"
    }

    func query(for request: Query) -> String {
        let parameters = [
            ("code", self.code), ("error", self.error), ("iss", self.issuer), ("state", self.state ?? request.state),
        ]
        return parameters.compactMap { name, value in value.map { "\(name)=\(PercentCoding.encode($0))" } }
            .joined(separator: "&")
    }
}
