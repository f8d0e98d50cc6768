/// Parameters the configuration adds to each token request, such as `audience` or `resource`.
package struct TokenParameters: Equatable, Sendable {
    /// A parameter that may not be added.
    package struct Reserved: Error, Equatable {
        /// The parameter's name.
        package let name: String
    }

    /// None.
    package static let none = TokenParameters()

    let pairs: [Pair]

    struct Pair: Equatable {
        let name: String
        let value: String
    }

    private init() { self.pairs = [] }

    /// - Throws: ``Reserved`` for a name the request itself decides: a second value of it would leave it to the
    ///   provider which of them counts.
    package init(_ parameters: [String: String]) throws(Reserved) {
        // In a fixed order, so that the same configuration always sends the same bytes.
        let sorted = parameters.sorted { $0.key < $1.key }
        for (name, _) in sorted where Self.isReserved(name) || name.isEmpty { throw Reserved(name: name) }
        self.pairs = sorted.map { Pair(name: $0.key, value: $0.value) }
    }

    /// Whether the request itself decides what stands under `name`.
    package static func isReserved(_ name: String) -> Bool { Self.reserved.contains(name) }

    private static let reserved: Set<String> = [
        "grant_type", "refresh_token", "scope", "client_id", "client_secret", "client_assertion",
        "client_assertion_type", "assertion", "code", "code_verifier", "device_code", "username", "password",
    ]
}
