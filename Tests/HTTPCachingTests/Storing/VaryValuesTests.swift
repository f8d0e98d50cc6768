import HTTPCaching
import Testing

/// `Vary` of a stored response, the request it answered, and one that may get it.
struct VaryCase: Sendable, CustomTestStringConvertible {
    let vary: [String]
    let stored: [String]
    let asks: [String]
    let matches: Bool
    var sent = Given.sent

    init(_ vary: String..., stored: [String], asks: [String], _ matches: Bool, _ sent: SentFields = Given.sent) {
        self.vary = vary.map { "Vary: \($0)" }
        self.stored = stored
        self.asks = asks
        self.matches = matches
        self.sent = sent
    }

    var testDescription: String {
        let parts = [self.vary, self.stored, self.asks].map { $0.joined(separator: " | ") }
        return "\(parts[0]): \(parts[1]) → \(parts[2])"
    }
}

extension VaryCase {
    private static let inKey = SentFields(injectedName: "X_Key", asksForIdentity: true, appendsForwarded: false)

    /// RFC 9111 §4.1.
    static let all: [VaryCase] = [
        .init(stored: ["A: 1"], asks: ["A: 2"], true),
        .init("A", stored: ["A: 1"], asks: ["A: 1"], true),
        .init("A", stored: ["A: 1"], asks: ["a:  1 "], true),
        .init("A", stored: ["A: 1"], asks: ["A: 2"], false),
        .init("A", stored: ["A: 1"], asks: ["A: 11"], false),
        .init("A", stored: ["A: 11"], asks: ["A: 1"], false),
        .init("A", stored: ["A: x"], asks: ["A: X"], false),
        .init("A", stored: ["A: 1"], asks: [], false),
        .init("A", stored: [], asks: ["A: 1"], false),
        .init("A", stored: [], asks: ["A:"], false),
        .init("A-B", stored: ["A-B: 1"], asks: ["A-B: 1", "A_B: 2"], false),
        .init("A-B", stored: [], asks: ["A_B: 2"], false),
        .init("A_B", stored: ["A_B: 1"], asks: ["A_B: 1", "a-b: 2"], false),
        .init("A", stored: ["A:"], asks: [], false),
        .init("A", stored: ["A:"], asks: ["A:"], true),
        .init("A", stored: [], asks: [], true),
        .init("a", stored: ["A: 1"], asks: ["A: 1", "B: 2"], true),
        .init("A", stored: ["A: 1", "A: 2"], asks: ["A: 1, 2"], true),
        .init("A", stored: ["A: 1, 2"], asks: ["A: 1", "B: 3", "a: 2"], true),
        .init("A", stored: ["A: 1, 2"], asks: ["A: 2", "A: 1"], false),
        .init("A", stored: ["A: 1, 2"], asks: ["A: 1"], false),
        .init("A", stored: ["A: 1"], asks: ["A: 1", "A: 2"], false),
        .init("A", stored: ["A: 1, "], asks: ["A: 1", "A:"], false),
        .init("A, B", stored: ["A: 1", "B: 2"], asks: ["B: 2", "A: 1"], true),
        .init("A, B", stored: ["A: 1", "B: 2"], asks: ["A: 1", "B: 3"], false),
        .init("A", "B", stored: ["A: 1", "B: 2"], asks: ["A: 1", "B: 3"], false),
        .init("A, a, A", stored: ["A: 1"], asks: ["A: 1"], true),
        .init(", ,", stored: ["A: 1"], asks: ["A: 2"], true),
        // What does not go upstream can't matter there.
        .init("Cookie", stored: ["Cookie: a=1"], asks: ["Cookie: a=2"], true),
        .init("Martlet-Key", stored: ["Martlet-Key: a"], asks: ["Martlet-Key: b"], true),
        .init("X-Forwarded-For", stored: ["X-Forwarded-For: 1"], asks: ["X-Forwarded-For: 2"], true),
        .init("A", stored: ["A: 1", "Connection: A"], asks: ["A: 2", "Connection: A"], true),
        .init("A", stored: ["A: 1", "Connection: A"], asks: [], true),
        .init("A", stored: ["A: 1", "Connection: A"], asks: ["A: 1"], false),
        // The injected field is the gateway's, and so is the host.
        .init("Authorization, Host", stored: ["Authorization: a"], asks: ["Authorization: b"], true),
        .init("x_key", stored: ["X_Key: a"], asks: ["X_Key: b"], true, inKey),
        .init("X-Key", stored: ["X-Key: a"], asks: ["X-Key: b"], true, inKey),
        .init("X-Keys", stored: ["X-Keys: a"], asks: ["X-Keys: b"], false, inKey),
        .init("Accept-Encoding", stored: ["Accept-Encoding: a"], asks: ["Accept-Encoding: b"], true, inKey),
        .init("Accept-Encoding", stored: ["Accept-Encoding: a"], asks: ["Accept-Encoding: b"], false),
    ]
}

@Suite struct VaryValuesTests {
    private func values(_ row: VaryCase) throws -> VaryValues? {
        VaryValues(
            response: try Given.response("200 OK", row.vary),
            request: try Given.request("GET /a", row.stored),
            row.sent
        )
    }

    @Test(arguments: VaryCase.all)
    func `RFC 9111 §4.1: a stored response answers requests whose fields are those it was selected by`(
        _ row: VaryCase
    ) throws {
        let vary = try #require(try self.values(row))
        #expect(vary.matches(try Given.request("GET /a", row.asks)) == row.matches)
        #expect(vary.matches(try Given.request("GET /a", row.stored)))
    }

    @Test func `RFC 9111 §4.1: values are equal if they select the same requests`() throws {
        let base = VaryCase("A, B", stored: ["A: 1"], asks: [], false)
        let same = VaryCase("b", "a", stored: ["A: 1", "C: 2"], asks: [], false)
        let other = VaryCase("A, B", stored: ["A: 1", "B: 1"], asks: [], false)
        #expect(try self.values(base) == self.values(same))
        #expect(try self.values(base) != self.values(other))
    }
}
