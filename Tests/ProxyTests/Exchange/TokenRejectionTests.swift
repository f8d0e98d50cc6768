import HTTPWire
import Proxy
import Testing

@Suite struct TokenRejectionTests {
    @Test(
        arguments: [
            (401, [], true),
            (401, ["Bearer"], true),
            (401, ["bearer realm=\"api\""], true),
            (401, ["Bearer error=\"invalid_token\", error_description=\"expired\""], true),
            (401, ["Basic realm=\"x\""], false),
            (401, ["Basic realm=\"x\", Bearer"], false),
            (401, ["Basic realm=\"x\"", "Bearer error=\"invalid_token\""], true),
            (401, ["Bearer error=\"insufficient_user_authentication\", acr_values=\"gold\""], false),
            (401, ["Bearer error=\"insufficient_claims\""], false),
            (401, ["Bearer error=\"invalid_token\"", "Bearer error=\"insufficient_user_authentication\""], false),
            (403, ["Bearer error=\"invalid_token\""], false),
            (200, [], false),
            (400, ["Bearer error=\"invalid_token\""], false),
        ] as [(Int, [String], Bool)]
    )
    func `only a 401 that a fresh token may mend shows a dead token`(
        status: Int,
        challenges: [String],
        isDead: Bool
    ) throws {
        let fields = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
        let answer = try ResponseHead.parsed("HTTP/1.1 \(status) X\r\n\(fields)Content-Length: 0\r\n\r\n")
        #expect(TokenRejection.shows(in: answer) == isDead)
    }
}
