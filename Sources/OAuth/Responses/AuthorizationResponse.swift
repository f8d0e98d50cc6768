internal import TextCoding
package import TokenModel

/// What the provider sends back through the browser (RFC 6749 §4.1.2): a code or an error, with the `state` of the
/// request.
///
/// Anybody can open the redirect URI with any query, so nothing of it is believed before `state` is compared.
package struct AuthorizationResponse: Equatable, Sendable {
    /// How the sign-in went in the browser.
    package enum Result: Equatable, Sendable {
        /// The code to redeem.
        case code(Secret)
        /// The provider's error (RFC 6749 §4.1.2.1); `nil` if it has characters that ``VerdictReason`` does not allow.
        case error(VerdictReason?)
    }

    /// `state`, as it was received.
    package let state: Secret
    /// `iss` (RFC 9207 §2), compared exactly; `nil` if there is none.
    package let issuer: String?
    /// The code or the error.
    package let result: Result

    /// The longest query or address that is read, in bytes.
    package static let limit = 16 * 1024

    package init(state: Secret, issuer: String?, result: Result) {
        self.state = state
        self.issuer = issuer
        self.result = result
    }

    /// Reads the query of the redirected address.
    ///
    /// Strict: two parsers must not see different responses. Each parameter that counts appears at most once. Parameters
    /// of other names are ignored, whatever their values. An empty `state`, `code` or `error` counts as missing (§3.1).
    package static func read(query: String) throws(AuthorizationResponseFault) -> AuthorizationResponse {
        guard query.utf8.count <= Self.limit else { throw .tooLong }
        let query = Array(query.utf8)
        guard query.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else { throw .malformed }

        var values: [Parameter: [UInt8]] = [:]
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            guard let parameter = Parameter(rawValue: String(decoding: try Self.decode(name), as: UTF8.self)) else {
                continue
            }
            guard values[parameter] == nil else { throw .repeated }
            values[parameter] = try Self.decode(pair.dropFirst(name.count + 1))
        }

        guard let state = values[.state], !state.isEmpty else { throw .stateMissing }
        for value in values.values where !value.allSatisfy({ (0x20...0x7E).contains($0) }) { throw .malformed }
        let code = values[.code].flatMap { $0.isEmpty ? nil : $0 }
        let error = values[.error].flatMap { $0.isEmpty ? nil : $0 }
        if let issuer = values[.issuer], issuer.isEmpty { throw .malformed }
        let result: Result
        switch (code, error) {
        case (let code?, nil): result = .code(Secret(code))
        case (nil, let error?): result = .error(VerdictReason(code: error))
        case (nil, nil): throw .neitherCodeNorError
        case (_?, _?): throw .malformed
        }
        return AuthorizationResponse(
            state: Secret(state),
            issuer: values[.issuer].map { String(decoding: $0, as: UTF8.self) },
            result: result
        )
    }

    /// Takes a pasted address apart: what comes before its query, and the query. Spaces, line breaks and quotation marks
    /// around it are dropped, and so is a fragment.
    package static func split(
        address: String
    ) throws(AuthorizationResponseFault) -> (redirectURI: String, query: String) {
        guard address.utf8.count <= Self.limit else { throw .tooLong }
        var address = address[...]
        while let first = address.unicodeScalars.first, Self.surrounds(first) { address.unicodeScalars.removeFirst() }
        while let last = address.unicodeScalars.last, Self.surrounds(last) { address.unicodeScalars.removeLast() }
        let whole = address.utf8.prefix { $0 != UInt8(ascii: "#") }
        let redirectURI = String(decoding: whole.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        // Whether it is the right one is not decided here.
        guard (try? ProviderURL(redirectURI, allowCleartext: true)) != nil else { throw .notAnAddress }
        let query = String(decoding: whole.dropFirst(redirectURI.utf8.count + 1), as: UTF8.self)
        guard !query.isEmpty else { throw .noQuery }
        return (redirectURI, query)
    }

    /// The parameters that count.
    private enum Parameter: String {
        case state, code, error
        case issuer = "iss"
    }

    private static func decode(_ text: ArraySlice<UInt8>) throws(AuthorizationResponseFault) -> [UInt8] {
        guard let decoded = PercentCoding.decode(Array(text).span, isForm: true) else { throw .malformed }
        return decoded
    }

    private static func surrounds(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.isQuotationMark || "<>`".unicodeScalars.contains(scalar)
    }
}

/// Why an authorization response can't be read. Two faults are equal if their codes are equal.
package struct AuthorizationResponseFault: Error, Sendable {
    /// The kind of fault.
    package enum Code: Sendable, CaseIterable {
        /// Not an absolute `http` or `https` address.
        case notAnAddress
        /// An address without a query.
        case noQuery
        /// No `state`, or an empty one.
        case stateMissing
        /// A parameter that counts appears twice.
        case repeated
        /// Characters or escapes that no provider writes, or both a code and an error.
        case malformed
        /// Neither a code nor an error.
        case neitherCodeNorError
        /// Longer than ``AuthorizationResponse/limit``.
        case tooLong
    }

    /// The kind of fault, which decides equality.
    package let code: Code
    /// For the operator, without anything of the input.
    package let message: String

    private init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static let notAnAddress = Self(
        .notAnAddress,
        "this is no address: paste all of what the browser's address bar shows, from http:// or https:// on"
    )
    static let noQuery = Self(
        .noQuery,
        "the address has nothing after a ?: paste the one that the browser was sent to after the sign-in"
    )
    static let stateMissing = Self(.stateMissing, "the address has no state, so it answers no sign-in of this gateway")
    static let repeated = Self(.repeated, "the address has state, code, iss or error twice")
    static let malformed = Self(
        .malformed,
        "the address is damaged, or has both a code and an error: copy it again, or sign in again"
    )
    static let neitherCodeNorError = Self(.neitherCodeNorError, "the address has neither a code nor an error")
    static let tooLong = Self(.tooLong, "the address has more than \(AuthorizationResponse.limit) bytes")
}

extension AuthorizationResponseFault: Equatable {
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}
