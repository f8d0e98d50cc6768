internal import FoundationEssentials

/// What of a provider's token answer (RFC 6749 §5.1) is taken over.
struct TokenAnswer: Decodable {
    let refreshToken: String?
    let accessToken: String?
    let expiresIn: Int64?
    /// It is an error answer (§5.2).
    let isError: Bool

    private enum Key: String, CodingKey {
        case error
        case refreshToken = "refresh_token"
        case accessToken = "access_token"
        case expiresIn = "expires_in"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        self.refreshToken = try members.decodeIfPresent(String.self, forKey: .refreshToken)
        self.accessToken = try members.decodeIfPresent(String.self, forKey: .accessToken)
        self.isError = members.contains(.error)
        self.expiresIn = try Self.seconds(in: members)
    }

    /// - Throws: ``ProgramExit/usage``; the message repeats nothing of the text but a member's name.
    static func read(_ text: String) throws(CommandFailure) -> TokenAnswer {
        do {
            return try JSONDecoder().decode(TokenAnswer.self, from: Data(text.utf8))
        } catch DecodingError.typeMismatch(_, let context) {
            let member = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw CommandFailure(.usage, "the token answer's \(member) is not of the kind that it should be")
        } catch {
            throw CommandFailure(.usage, "the input begins as JSON and is none; was it cut short?")
        }
    }

    /// Some providers write a string or a fraction; what has ended already has 0 seconds left.
    private static func seconds(in members: KeyedDecodingContainer<Key>) throws -> Int64? {
        let text = try? members.decodeIfPresent(String.self, forKey: .expiresIn)
        let number = try text.flatMap(Double.init) ?? members.decodeIfPresent(Double.self, forKey: .expiresIn)
        guard let number, !number.isNaN else { return nil }
        return Int64(min(max(number, 0), 1e12))
    }
}
