import NIOSSL
import Proxy
import TestKit
import Testing

@Suite struct ClientCertificateTests {
    /// A certificate whose subject is `emailAddress=ops@acme.example,CN=batch+OU=two,OU=Straße,O=Acme\\, Inc. x,C=DE`,
    /// as `openssl x509 -noout -subject -nameopt RFC2253,utf8,-esc_msb` prints it. Its alternative names are critical.
    private static let rich = """
        -----BEGIN CERTIFICATE-----
        MIICcDCCAhagAwIBAgIUGUY53MGX0nudtyDaX7l5UoU/ezgwCgYIKoZIzj0EAwIw
        czELMAkGA1UEBhMCREUxFTATBgNVBAoMDEFjbWUsIEluYy4geDEQMA4GA1UECwwH
        U3RyYcOfZTEaMAoGA1UECwwDdHdvMAwGA1UEAwwFYmF0Y2gxHzAdBgkqhkiG9w0B
        CQEWEG9wc0BhY21lLmV4YW1wbGUwIBcNMjYxMTIyMDM0OTA4WhgPMjEyNjEwMjkw
        MzQ5MDhaMHMxCzAJBgNVBAYTAkRFMRUwEwYDVQQKDAxBY21lLCBJbmMuIHgxEDAO
        BgNVBAsMB1N0cmHDn2UxGjAKBgNVBAsMA3R3bzAMBgNVBAMMBWJhdGNoMR8wHQYJ
        KoZIhvcNAQkBFhBvcHNAYWNtZS5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAEs4tY3KqgOpLygJ1c4WgCYtsKsXiiu8X9Jcccad6aApk9IN5HhiQM7EWF
        VknEiSNAJD1zJYI9L9JG8jVQVLCyhqOBhTCBgjBhBgNVHREBAf8EVzBVgg5CYXRj
        aC5JbnRlcm5hbIIOKi53aWxkLmV4YW1wbGWGG3NwaWZmZTovL2FjbWUuZXhhbXBs
        ZS9CYXRjaIEQb3BzQGFjbWUuZXhhbXBsZYcEfwAAATAdBgNVHQ4EFgQUogxCsRgK
        TeeJHnZjH51cKOZIQf0wCgYIKoZIzj0EAwIDSAAwRQIhAL/BGPggNuiGx/hY+Yu1
        oYomSSdUvNPYZzMpRiU41csPAiAteE6jJrJicMap/kMYY+C5bwnWBNYD78Jg1+vC
        pVjfig==
        -----END CERTIFICATE-----
        """

    /// A certificate without alternative names, and with a subject attribute that has no name.
    private static let bare = """
        -----BEGIN CERTIFICATE-----
        MIIBNjCB3QIUGmUNlvn98/jsozJ8lUWcDDMmE1swCgYIKoZIzj0EAwIwHTEMMAoG
        A1MEBQwDb2RkMQ0wCwYDVQQDDARiYXJlMCAXDTI2MTEyMjAzNDkwOFoYDzIxMjYx
        MDI5MDM0OTA4WjAdMQwwCgYDUwQFDANvZGQxDTALBgNVBAMMBGJhcmUwWTATBgcq
        hkjOPQIBBggqhkjOPQMBBwNCAASzi1jcqqA6kvKAnVzhaAJi2wqxeKK7xf0lxxxp
        3poCmT0g3keGJAzsRYVWScSJI0AkPXMlgj0v0kbyNVBUsLKGMAoGCCqGSM49BAMC
        A0gAMEUCIQCzQo65ZllGgtBTl2tsufiIm37ls3LiTxmzQxjhnDkSJwIgQXGx9A3Q
        K1fpKe+lVdihPzWAwYOqpS1L8+o0Zqajwd4=
        -----END CERTIFICATE-----
        """

    /// A certificate with an RSASSA-PSS signature, whose subject is `CN=batch_1,O=Acme`.
    private static let pss = """
        -----BEGIN CERTIFICATE-----
        MIIDqjCCAl2gAwIBAgIULSAXeZeL641KmRNACCYpBpWJST8wQgYJKoZIhvcNAQEK
        MDWgDzANBglghkgBZQMEAgEFAKEcMBoGCSqGSIb3DQEBCDANBglghkgBZQMEAgEF
        AKIEAgIA3jAhMQ0wCwYDVQQKDARBY21lMRAwDgYDVQQDDAdiYXRjaF8xMCAXDTI2
        MTEyNTE3MjEzM1oYDzIxMjYxMTAxMTcyMTMzWjAhMQ0wCwYDVQQKDARBY21lMRAw
        DgYDVQQDDAdiYXRjaF8xMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA
        5+vFXMWh3XmHeZ7IU5Zvs47MY3NIfMsKs8v33WmMMrOuU6qHCcTkclFPPUnxbiax
        eX80XhqV4e/k3wJLO4K69KhPLvVxWfR8ABMxmOXROPpacsl25kxbdM8lVM1x1uso
        UTv8oVsh4n4Bt6qund6cV85djyUEqDfUyuqWA90Aafybrb9ahQ4TMBeUzYvUZDGi
        cdbHU+97qMbnrkgL1/nSHzCxP1GFrz1CJbGaW5YfWHANOfgepdKymyo1GdkYCv0T
        BX3FySLDwJCsFYmYbXOTuJPiP2d3YdJfAWVR1vJMcD1F0/fQRBEtrFnKySoPDSKy
        qLR/POoKoUeioXRuS0+ymQIDAQABo24wbDAdBgNVHQ4EFgQUk2xwYkqgiBd4cm2i
        mKLkNquPO6owHwYDVR0jBBgwFoAUk2xwYkqgiBd4cm2imKLkNquPO6owDwYDVR0T
        AQH/BAUwAwEB/zAZBgNVHREEEjAQgg5iYXRjaC5pbnRlcm5hbDBCBgkqhkiG9w0B
        AQowNaAPMA0GCWCGSAFlAwQCAQUAoRwwGgYJKoZIhvcNAQEIMA0GCWCGSAFlAwQC
        AQUAogQCAgDeA4IBAQAytt5fTtuZPdZ9VaA1OQRtgFKAQEJ3L8iMAZpIqJXtpmSf
        nzkLHBASrApvZGaJ9HXLZAs7/f42gP2G77fcPpXR0plUXKwSuqUnXgPWAzXBT9QW
        pWgZ7GqgHAG8jGRbP74hPZerajx69gnkTxOtV3Zo+kH3uFSBl2PGqvdoJpYt8O6G
        20YtGsI1VQxJqp1D5kHPCPHiEbzUROboP9Ce2+Ag1i2YtUmK+bs2Cs3L+aGw6egc
        T5At+3kcVnWHIl+d3OE3xH+OY/iYkIVaYNtdEUIQPn6vs1n4PVQ0bC8mQyO1VH46
        YJZYKvAdPOMkjOGMoinRAeHC754IhU4Dxft6wRYv
        -----END CERTIFICATE-----
        """

    private func names(_ pem: String) throws -> [CertificateName] {
        let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first)
        return ClientCertificate(certificate).names
    }

    @Test func `a certificate is known by its subject and by each of its alternative names`() throws {
        let expected: [CertificateName] = [
            .subject(#"emailAddress=ops@acme.example,CN=batch+OU=two,OU=Straße,O=Acme\, Inc. x,C=DE"#),
            .dns("batch.internal"), .dns("*.wild.example"), .uri("spiffe://acme.example/Batch"),
            .email("ops@acme.example"),
        ]
        #expect(try self.names(Self.rich) == expected)
        #expect(try self.names(TestCertificates.client) == [.subject("CN=Test client"), .dns("batch.internal")])
    }

    @Test func `a certificate is known whatever algorithm has signed it`() throws {
        #expect(try self.names(Self.pss) == [.subject("CN=batch_1,O=Acme"), .dns("batch.internal")])
    }

    @Test func `a certificate whose subject can't be written unambiguously has no names`() throws {
        #expect(try self.names(Self.bare).isEmpty)
    }
}
