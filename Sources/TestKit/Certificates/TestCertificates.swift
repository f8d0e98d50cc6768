/// Certificates for servers on loopback, with their keys. They exist only for tests and protect nothing. All except
/// the expired one are valid until 2120.
package enum TestCertificates {
    /// The authority that signed ``valid``, ``forAnotherHost`` and ``expired``.
    package static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBXjCCAQSgAwIBAgIIJ99y643tEDQwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwH
        VGVzdCBjYTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEjEQMA4G
        A1UEAwwHVGVzdCBjYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFwQr8ZrB60f
        4im2/GXs42ifwPWjBnKPwQTYwFUOtTXz7i9aqtIlEjCJEajtlm3hnTr2M999C1sR
        tLLfavjus6ejQjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0G
        A1UdDgQWBBRK4d9wT9H4A4Fb9Bsh/E5xJFHzgTAKBggqhkjOPQQDAgNIADBFAiEA
        jXIrVLnjVePbEEdfoF5Zvl7FXcxAf5jHebs0BE47pHsCIHCD7LtfT5Cje1Pt5K/d
        yQj7KR79fhJOgR7urzwt0Yxq
        -----END CERTIFICATE-----
        """

    /// For 127.0.0.1.
    package static let valid = """
        -----BEGIN CERTIFICATE-----
        MIIBhzCCAS6gAwIBAgIIJ99y643tEDUwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwH
        VGVzdCBjYTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIG
        A1UEAwwLVGVzdCBzZXJ2ZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATUYljS
        SmkZTTnwHyVHfz+59lDuocEYhwTiXeR7vvZvVvmBB0Cz/hHJXb/RorE4x/7B/Bt0
        JkoCxhrmyRts+WWso2gwZjAPBgNVHREECDAGhwR/AAABMBMGA1UdJQQMMAoGCCsG
        AQUFBwMBMB0GA1UdDgQWBBSsKUubSRS8d+NakxqUasYFMDEXazAfBgNVHSMEGDAW
        gBRK4d9wT9H4A4Fb9Bsh/E5xJFHzgTAKBggqhkjOPQQDAgNHADBEAiAq/8TVrhmV
        xDxStVPHiRe/fUJ9GV/PisoCHieWjFhnHwIgT0K2QO/xIozK9c1w4BocvmrK46mx
        F5NPCTbE1F7qt4I=
        -----END CERTIFICATE-----
        """

    package static let forAnotherHost = """
        -----BEGIN CERTIFICATE-----
        MIIBljCCATugAwIBAgIIJ99y643tEDYwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwH
        VGVzdCBjYTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIG
        A1UEAwwLVGVzdCBzZXJ2ZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATUYljS
        SmkZTTnwHyVHfz+59lDuocEYhwTiXeR7vvZvVvmBB0Cz/hHJXb/RorE4x/7B/Bt0
        JkoCxhrmyRts+WWso3UwczAcBgNVHREEFTATghFlbHNld2hlcmUuZXhhbXBsZTAT
        BgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4EFgQUrClLm0kUvHfjWpMalGrGBTAx
        F2swHwYDVR0jBBgwFoAUSuHfcE/R+AOBW/QbIfxOcSRR84EwCgYIKoZIzj0EAwID
        SQAwRgIhAIAjWWY6yJoFJ4cMzx8ebtfInLO1w5/r/DIOewYZbxxsAiEAixW7IY9X
        XnPVfEk6nCq1VQFDF7YAPsv9qbXzHmAhZE4=
        -----END CERTIFICATE-----
        """

    package static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBhzCCASygAwIBAgIIJ99y643tEDcwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwH
        VGVzdCBjYTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMBYxFDASBgNV
        BAMMC1Rlc3Qgc2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1GJY0kpp
        GU058B8lR38/ufZQ7qHBGIcE4l3ke772b1b5gQdAs/4RyV2/0aKxOMf+wfwbdCZK
        AsYa5skbbPllrKNoMGYwDwYDVR0RBAgwBocEfwAAATATBgNVHSUEDDAKBggrBgEF
        BQcDATAdBgNVHQ4EFgQUrClLm0kUvHfjWpMalGrGBTAxF2swHwYDVR0jBBgwFoAU
        SuHfcE/R+AOBW/QbIfxOcSRR84EwCgYIKoZIzj0EAwIDSQAwRgIhAIFtr+l2/jhn
        t5moypaDFBq6UmbtaPAgIIJY7b96uHTWAiEApYqoaneOsOjHMQDsHb3eTtoh9tO4
        9ZMaQOzXClfegJU=
        -----END CERTIFICATE-----
        """

    /// The key of the three server certificates.
    package static let serverKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq8WbMnt6rx3ORnWq
        1WChzFzn1aKQFExTg9w9VmY61eKhRANCAATUYljSSmkZTTnwHyVHfz+59lDuocEY
        hwTiXeR7vvZvVvmBB0Cz/hHJXb/RorE4x/7B/Bt0JkoCxhrmyRts+WWs
        -----END PRIVATE KEY-----
        """

    /// A self-signed certificate for 127.0.0.1 and `localhost`.
    package static let selfSigned = """
        -----BEGIN CERTIFICATE-----
        MIIBWDCB/qADAgECAgEBMAoGCCqGSM49BAMCMBwxGjAYBgNVBAMMEW1hcnRsZXQt
        bW9jayB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAcMRow
        GAYDVQQDDBFtYXJ0bGV0LW1vY2sgdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABHJ1pwCOR1jD4SmrpJ6nKrCHhmhslyMbYnZtu9zbXUrkvNQ0+r/P5qEsy5u5
        9r/48QierWGD/9jlWqsOXfkDdX+jLzAtMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcE
        fwAAATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDwLYUrEufV
        6eViEmUMsU7arv20u30zxZyleX4BCbD84QIhANP4e66G4Yt42uh0WtZMSzYOnMPQ
        ZvU6Drf/CYa7mKf9
        -----END CERTIFICATE-----
        """

    package static let selfSignedKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTDI7OYqNt559Iubj
        +KqpY43mpQy3ksb/leAWlqGXOcqhRANCAARydacAjkdYw+Epq6Sepyqwh4ZobJcj
        G2J2bbvc211K5LzUNPq/z+ahLMubufa/+PEInq1hg//Y5VqrDl35A3V/
        -----END PRIVATE KEY-----
        """
}

extension TestCertificates {
    /// The authority that signed ``client``.
    package static let clientAuthority = """
        -----BEGIN CERTIFICATE-----
        MIIBbDCCARKgAwIBAgIIJ5ny643tEEAwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwO
        VGVzdCBjbGllbnQgY2EwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBa
        MBkxFzAVBgNVBAMMDlRlc3QgY2xpZW50IGNhMFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAEeZkSsIlNc795n3g+F0qja47h53+PbKlHHBTdM1pcLm2SbNHWLJokwtZ+
        41iKjPso4tw4ZFJhSuN6u/cZ571biaNCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNV
        HQ8BAf8EBAMCAgQwHQYDVR0OBBYEFAMDgjHBZIopJUtpv1GVVi16uy9+MAoGCCqG
        SM49BAMCA0gAMEUCIAtwpxf7moV0znxmi3UPVhJdr4C9rsi+9fZ5H/MckCxwAiEA
        vt7CBEJMerkCLTZ9usV30Ih4IVrqJPsc+PZSMe4fJM8=
        -----END CERTIFICATE-----
        """

    /// The certificate of a caller named `batch.internal`.
    package static let client = """
        -----BEGIN CERTIFICATE-----
        MIIBmDCCAT+gAwIBAgIIJ5ny643tEEEwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwO
        VGVzdCBjbGllbnQgY2EwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBa
        MBYxFDASBgNVBAMMC1Rlc3QgY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
        QgAEdJjPKSlDpbBBaSbGUHhiKLdj+AEzYRjYjMDnfB0MLvadpQ/ohFLYnrhQUfty
        OPp8fYgrFBlIYOEPmnd5p0LWc6NyMHAwGQYDVR0RBBIwEIIOYmF0Y2guaW50ZXJu
        YWwwEwYDVR0lBAwwCgYIKwYBBQUHAwIwHQYDVR0OBBYEFNAAPTXqyQ/GiN3wp83f
        A9xRowEOMB8GA1UdIwQYMBaAFAMDgjHBZIopJUtpv1GVVi16uy9+MAoGCCqGSM49
        BAMCA0cAMEQCIBp4utlGEAr0shPUTXuwFYGExfxECDAGk4eMwmiPPFCUAiBkaEhA
        cV4jKDgMESx3bh1QCpr2Ap/+PIgToYr7nkpJ9w==
        -----END CERTIFICATE-----
        """

    package static let clientKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPQB1Nmkw+ikwT2sB
        agDIRGMizmkDLj1ZW2j1306DDy+hRANCAAR0mM8pKUOlsEFpJsZQeGIot2P4ATNh
        GNiMwOd8HQwu9p2lD+iEUtieuFBR+3I4+nx9iCsUGUhg4Q+ad3mnQtZz
        -----END PRIVATE KEY-----
        """
}
