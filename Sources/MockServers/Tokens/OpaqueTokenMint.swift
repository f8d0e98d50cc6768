/// Access tokens that say nothing to whoever holds them.
package struct OpaqueTokenMint: TokenMint {
    package init() {}

    package func accessToken(for claims: AccessClaims) throws(GrantRefusal) -> String {
        self.opaqueToken("mat")
    }
}
