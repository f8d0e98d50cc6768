internal import FoundationEssentials
internal import NIOCore
internal import TextCoding

/// A form that a client posted, with the client's credentials.
struct ClientForm: Sendable {
    let fields: FormBody
    private let authorization: [String]

    /// Reads the body of a request. Fails with `invalid_request` if the body is not a form or is longer than 64 KiB.
    static func read(_ exchange: Exchange) async throws -> Result<ClientForm, GrantRefusal> {
        guard let body = try await exchange.wholeBody(limit: 65_536) else {
            return .failure(GrantRefusal(.invalidRequest, "the form is longer than 64 KiB"))
        }
        return Result { () throws(GrantRefusal) in
            try ClientForm(String(buffer: body), head: exchange.head)
        }
    }

    private init(_ text: String, head: ReceivedHead) throws(GrantRefusal) {
        let type = head.values("Content-Type").first?.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard type == "application/x-www-form-urlencoded" else {
            throw GrantRefusal(.invalidRequest, "the body is not application/x-www-form-urlencoded")
        }
        self.fields = try FormBody(text)
        self.authorization = head.values("Authorization")
    }

    /// Checks the client by `client_secret_basic` or `client_secret_post` (RFC 6749 section 2.3.1).
    ///
    /// Throws `invalid_client` for wrong or missing credentials, `invalid_request` if the client uses both ways at
    /// once.
    func authenticate() throws(GrantRefusal) {
        let presented: (id: String, secret: String)?
        if let header = self.authorization.first {
            guard self.authorization.count == 1, self.fields["client_secret"] == nil else {
                throw GrantRefusal(.invalidRequest, "the client authenticates in more than one way")
            }
            presented = Self.basic(header)
            if let named = self.fields["client_id"], named != presented?.id {
                throw GrantRefusal(.invalidClient, "the form names another client than the Authorization field")
            }
        } else if let id = self.fields["client_id"], let secret = self.fields["client_secret"] {
            presented = (id, secret)
        } else {
            presented = nil
        }
        guard let presented, presented.id == ClientRegistration.id, presented.secret == ClientRegistration.secret else {
            throw GrantRefusal(.invalidClient, "the client is unknown or its secret is wrong")
        }
    }

    private static func basic(_ header: String) -> (id: String, secret: String)? {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let data = Data(base64Encoded: String(parts[1])),
            let text = String(validating: data, as: UTF8.self)
        else { return nil }
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, let id = FormBody.decode(halves[0]),
            let secret = FormBody.decode(halves[1])
        else { return nil }
        return (id, secret)
    }
}

/// The one client that this provider knows. The secret is part of the documented interface and protects nothing.
package enum ClientRegistration {
    package static let id = "mock-client"
    package static let secret = "mock-secret"
    /// The password of every account.
    package static let password = "mock-password"
}

/// The fields of a form or a query, each given at most once (RFC 6749 section 3.1).
package struct FormBody: Sendable {
    private let values: [String: String]

    /// Reads `a=1&b=2`. A field without a value counts as missing.
    ///
    /// Throws `invalid_request` for a broken escape or a repeated field.
    package init(_ text: some StringProtocol) throws(GrantRefusal) {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]),
                let value = Self.decode(halves.count > 1 ? halves[1] : "")
            else {
                throw GrantRefusal(.invalidRequest, "the form has a broken percent escape")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw GrantRefusal(.invalidRequest, "the form repeats a field")
            }
        }
        self.values = values.filter { !$0.value.isEmpty }
    }

    /// The decoded value, or nil if the field is missing or empty.
    package subscript(name: String) -> String? { self.values[name] }

    /// The decoded value. Throws `invalid_request` with the field's name if the field is missing or empty.
    package func require(_ name: String) throws(GrantRefusal) -> String {
        guard let value = self.values[name] else {
            throw GrantRefusal(.invalidRequest, "the form has no \(name)")
        }
        return value
    }

    /// The text of an escaped name or value. Returns nil if an escape is broken or the bytes are not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        let bytes = Array(text.utf8)
        return PercentCoding.decode(bytes.span, isForm: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
