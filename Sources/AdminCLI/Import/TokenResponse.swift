internal import FoundationEssentials

/// The parts of a provider's token response (RFC 6749 §5.1) that an import uses.
struct TokenResponse: Decodable {
    let refreshToken: String?
    let accessToken: String?
    let expiresIn: Int64?
    /// `nil` if the response doesn't contain it.
    let tokenType: String?
    /// The granted scope (§5.1); `nil` if the response doesn't contain it, or if it is not a string.
    let scope: String?
    /// The text of an error response (§5.2), as the end of a sentence, and empty if there is none; `nil` for other
    /// responses.
    let error: String?

    private enum Key: String, CodingKey {
        case error, scope
        case errorDescription = "error_description"
        case tokenType = "token_type"
        case refreshToken = "refresh_token"
        case accessToken = "access_token"
        case expiresIn = "expires_in"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        self.refreshToken = try members.decodeIfPresent(String.self, forKey: .refreshToken)
        self.accessToken = try members.decodeIfPresent(String.self, forKey: .accessToken)
        self.tokenType = try members.decodeIfPresent(String.self, forKey: .tokenType)
        self.scope = try? members.decodeIfPresent(String.self, forKey: .scope)
        self.error = members.contains(.error) ? Self.words(of: members) : nil
        self.expiresIn = try Self.seconds(in: members)
    }

    /// - Throws: ``ProgramExit/usage``; the message repeats nothing of the text but a member's name.
    static func read(_ text: String) throws(CommandFailure) -> TokenResponse {
        do {
            return try JSONDecoder().decode(TokenResponse.self, from: Data(text.utf8))
        } catch DecodingError.typeMismatch(_, let context) {
            let member = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw CommandFailure(.usage, "the token answer's \(member) is not of the kind that it should be")
        } catch {
            throw CommandFailure(.usage, "the input looks like JSON but can't be parsed; was it cut short?")
        }
    }

    /// The provider's own words, to help find the cause: at most 200 characters that any terminal can show. Some
    /// providers repeat a token in them, so words of more than 24 bytes are left out.
    private static func words(of members: KeyedDecodingContainer<Key>) -> String {
        let texts: [String] = [Key.error, .errorDescription].compactMap { key in
            try? members.decodeIfPresent(String.self, forKey: key)
        }
        var shown = ""
        let words = texts.filter { !$0.isEmpty }.joined(separator: ": ").split(separator: " ")
            .map { $0.utf8.count > Self.longestWord ? "[...]" : String($0) }
        for scalar in words.joined(separator: " ").unicodeScalars
        where (0x20...0x7E).contains(scalar.value) && shown.utf8.count < 200 {
            shown.unicodeScalars.append(scalar)
        }
        return shown.isEmpty ? "" : " (\(shown))"
    }

    private static let longestWord = 24

    /// Some providers write a string or a fraction. An expired token has 0 seconds left.
    private static func seconds(in members: KeyedDecodingContainer<Key>) throws -> Int64? {
        let text = try? members.decodeIfPresent(String.self, forKey: .expiresIn)
        let number = try text.flatMap(Double.init) ?? members.decodeIfPresent(Double.self, forKey: .expiresIn)
        guard let number, !number.isNaN else { return nil }
        return Int64(min(max(number, 0), 1e12))
    }
}
