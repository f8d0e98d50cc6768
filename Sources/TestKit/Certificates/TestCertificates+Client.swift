extension TestCertificates {
    /// Has signed ``client``.
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

    /// Of a caller, `batch.internal`.
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
