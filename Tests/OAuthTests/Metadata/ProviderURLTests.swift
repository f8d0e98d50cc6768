import OAuth
import Testing

@Suite struct ProviderURLTests {
    @Test(arguments: [
        ("https://login.acme.example/oauth/token", "https://login.acme.example:443"),
        ("HTTPS://Login.ACME.example:8443/t?tenant=a%20b", "https://login.acme.example:8443"),
        ("https://login.acme.example", "https://login.acme.example:443"),
        ("https://login.acme.example?x=1", "https://login.acme.example:443"),
        ("https://[2001:DB8::1]:9443/t", "https://[2001:db8::1]:9443"),
        ("http://localhost/t", "http://localhost:80"),
        ("http://127.0.0.1:9090/oauth/token", "http://127.0.0.1:9090"),
        ("http://127.8.9.10/t", "http://127.8.9.10:80"),
        ("http://[::1]:9090/t", "http://[::1]:9090"),
    ])
    func `https URLs and local http URLs are accepted`(text: String, origin: String) throws {
        let url = try ProviderURL(text)
        #expect(url.origin == origin)
        #expect(url.text == text)
        #expect(url.isEncrypted == origin.hasPrefix("https"))
    }

    @Test(arguments: [
        "http://login.acme.example/t", "http://10.0.0.1/t", "http://127.0.0.1.evil.example/t", "http://127.1/t",
        "http://127.0.0.256/t", "http://localhost.evil.example/t", "http://[::2]/t", "http://0x7f.0.0.1/t",
        "http://127.+0.0.1/t",
    ])
    func `cleartext goes only to this machine, unless cleartext is allowed`(text: String) throws {
        let error = #expect(throws: ProviderURLError.self) { try ProviderURL(text) }
        if text.contains("+") {
            #expect(error?.code == .malformed)
        } else {
            #expect(error?.code == .cleartext)
            #expect(try !ProviderURL(text, allowCleartext: true).isEncrypted)
        }
    }

    @Test(arguments: [
        "", "https://", "https:///t", "https://:443/t", "ftp://a.example/", "//a.example/", "a.example/t", "https:a",
        "https://user@a.example/", "https://a.example@evil.example/", "https://a.example/#f", "https://a.example/a b",
        "https://a.example/\u{0}", "https://a.example/é", "https://a.example\\@evil.example/", "https://a.example:0/",
        "https://a.example:65536/", "https://a.example:/", "https://a.example:+1/", "https://a.example:1:2/",
        "https://[::1/", "https://[::1]x/", "https://[]/", "https://[evil]/", "https://a.example/%",
        "https://a.example/%2",
        "https://a.example/%zz", "https://a,b/", "https://a.example/[x]", "javascript://a.example/",
        "https://" + String(repeating: "a", count: 2048) + ".example/",
    ])
    func `URLs that two parsers could read differently are refused`(text: String) {
        let error = #expect(throws: ProviderURLError.self) { try ProviderURL(text, allowCleartext: true) }
        #expect(error?.code == .malformed)
    }
}
