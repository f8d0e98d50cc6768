import KillSwitch
import Testing
import TokenModel
import TokenStorage

@Suite struct RevocationRecordTests {
    /// The bytes of a waiting token's record in a layout.
    private static func bytes(_ layout: UInt8, issuer: String, isClaimed: Bool) -> Secret {
        let writer = FieldWriter(format: layout)
        writer.write(UInt64(3))
        for text in ["alice", "acme", issuer, "my-app", "refresh_token"] { writer.write(text) }
        writer.write(Secret("rt")) { writer.write($0) }
        writer.write(Int64?.none) { writer.write($0) }
        writer.write(Int64(7))
        writer.write("waiting")
        writer.write(Int64(2))
        if isClaimed {
            for text in ["boot", "claim"] { writer.write(text) }
            writer.write(Duration.seconds(12))
        }
        return writer.finish()
    }

    @Test(arguments: [
        (UInt8(1), "https://a.example:443", TokenIssuer.origin("https://a.example:443")),
        (2, "https://a.example:443", .origin("https://a.example:443")),
        (3, "at https://a.example:443/realms/a/token", .tokenEndpoint("https://a.example:443/realms/a/token")),
        (
            4, "by https://a.example:443/a at https://t.example:443/",
            .issuer("https://a.example:443/a", tokenEndpoint: "https://t.example:443/")
        ),
        (3, "by https://a.example:443/a", .issuer("https://a.example:443/a", tokenEndpoint: nil)),
    ])
    func `a token to be revoked names its issuer, and an earlier version that might ask another can't read it`(
        layout: UInt8,
        text: String,
        issuer: TokenIssuer
    ) throws {
        let bytes = Self.bytes(layout, issuer: text, isClaimed: layout.isMultiple(of: 2))
        let record = try RevocationRecord(decoding: bytes)
        #expect(record.binding.issuer == issuer)
        #expect(record.claim?.standsFor == (layout.isMultiple(of: 2) ? .seconds(12) : nil))
        #expect(record.encoded() == bytes)
    }

    @Test func `a record with an unknown form of issuer is refused`() {
        let bytes = Self.bytes(3, issuer: "https://a.example:443", isClaimed: false)
        #expect(throws: StoreError(.unreadable, "")) { try RevocationRecord(decoding: bytes) }
    }
}
