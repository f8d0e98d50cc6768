import Settings
import Testing

@Suite struct ListenerTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8_080), ("127.9.9.9:0", "127.9.9.9", 0), ("'[::1]:65535'", "::1", 65_535),
        ("'[0:0::0:1]:1'", "::1", 1), ("'[::ffff:127.0.0.1]:1'", "::ffff:127.0.0.1", 1),
    ])
    func `a listener has a loopback address and a port`(written: String, host: String, port: Int) throws {
        let settings = try settings(of: SampleFile().adding("listeners: [{ address: \(written) }]").text)
        guard case .network(let address)? = settings.listeners.first?.address else {
            Issue.record("no network address")
            return
        }
        #expect(address.host.text == host)
        #expect(address.port == port)
    }

    @Test func `a listener may be a Unix socket`() throws {
        let text = SampleFile().adding("listeners: [{ address: unix:/run/martlet/martlet.sock }]").text
        let settings = try settings(of: text)
        #expect(settings.listeners.map(\.address) == [.unix(path: "/run/martlet/martlet.sock")])
        #expect(settings.listeners.first?.address.description == "unix:/run/martlet/martlet.sock")
        #expect(settings.warnings.isEmpty)
    }

    @Test(arguments: ["unix:martlet.sock", "'unix:'", "unix:./m.sock", "unix:/run/"])
    func `a Unix socket has an absolute path`(written: String) {
        #expect(
            faults(of: SampleFile().adding("listeners: [{ address: \(written) }]").text) == [
                "12:24: listeners[0].address: needs the absolute path of a socket, such as unix:/run/martlet/martlet.sock"
            ]
        )
    }

    @Test(arguments: [(107, 0), (108, 1)])
    func `the path of a Unix socket has at most 107 bytes`(count: Int, expected: Int) {
        let path = "/" + String(repeating: "p", count: count - 1)
        let found = faults(of: SampleFile().adding("listeners: [{ address: 'unix:\(path)' }]").text)
        #expect(found.count == expected)
        #expect(found.allSatisfy { $0.hasSuffix("has a path of more than 107 bytes, too long for a socket") })
    }

    @Test(arguments: ["0.0.0.0:8080", "10.0.0.1:8080", "'[::]:8080'"])
    func `with callers, a listener may have any address, and gets a warning`(written: String) throws {
        let text = SampleFile().adding("listeners: [{ address: \(written) }]\n\(CallerTests.line)").text
        let settings = try settings(of: text)
        #expect(
            settings.warnings.map(\.message) == ["callers' keys and the answers travel unencrypted there"]
        )
    }

    @Test func `with TLS, a listener has a certificate and gets no warning`() throws {
        let tls = "tls: { certificate: c.pem, key: k.pem, client_ca: ca.pem }"
        let text = SampleFile().adding("listeners: [{ address: 0.0.0.0:8443, \(tls) }]\n\(CallerTests.line)").text
        let settings = try settings(of: text, secrets: ["/etc/martlet/k.pem": "k"])
        #expect(settings.warnings.isEmpty)
        let listener = try #require(settings.listeners.first?.tls)
        #expect(listener.identity.certificate == "/etc/martlet/c.pem")
        #expect(listener.identity.key == "/etc/martlet/k.pem")
        #expect(listener.clientAuthorities == "/etc/martlet/ca.pem")
        #expect(
            SettingsSummary(settings).lines.contains(
                "callers connect to 0.0.0.0:8443 over TLS with /etc/martlet/c.pem, "
                    + "asking for certificates of /etc/martlet/ca.pem"
            )
        )
    }

    @Test(arguments: [
        ("{ certificate: c.pem }", "12:40: listeners[0].tls: key is missing"),
        ("{ key: k.pem }", "12:40: listeners[0].tls: certificate is missing"),
        (
            "{ certificate: missing.pem, key: k.pem }",
            "12:60: listeners[0].tls.certificate: /etc/martlet/missing.pem can't be read: it is not there"
        ),
        (
            "{ certificate: c.pem, key: none.pem }",
            "12:72: listeners[0].tls.key: /etc/martlet/none.pem can't be read: it is not there"
        ),
        (
            "{ certificate: c.pem, key: k.pem, client_ca: missing.pem }",
            "12:90: listeners[0].tls.client_ca: /etc/martlet/missing.pem can't be read: it is not there"
        ),
        (
            "{ certificate: c.pem, key: k.pem, ca: c.pem }",
            "12:79: listeners[0].tls.ca: unknown key, there are certificate, key, client_ca"
        ),
    ])
    func `a fault in a listener's TLS settings is reported`(section: String, fault: String) {
        let text = SampleFile().adding("listeners: [{ address: 127.0.0.1:8443, tls: \(section) }]").text
        #expect(faults(of: text, secrets: ["/etc/martlet/k.pem": "k"]) == [fault])
    }

    @Test func `a Unix socket has no TLS`() {
        let text = SampleFile().adding("listeners: [{ address: unix:/m, tls: { certificate: c.pem, key: k.pem } }]")
            .text
        #expect(
            faults(of: text, secrets: ["/etc/martlet/k.pem": "k"]) == [
                "12:38: listeners[0].tls: is not for a Unix socket: leave it out, or listen on an address and a port"
            ]
        )
    }

    @Test(arguments: ["0.0.0.0:8081", "'[::]:8081'"])
    func `the admin listener may have any address with allow_cleartext`(written: String) throws {
        let text = SampleFile().adding("admin: { address: \(written), allow_cleartext: true }").text
        #expect(try settings(of: text).admin.address.port == 8081)
        let refused = SampleFile().adding("admin: { address: \(written), allow_cleartext: false }").text
        #expect(faults(of: refused).count == 1)
    }

    @Test(arguments: ["0.0.0.0:8080", "10.0.0.1:8080", "'[::]:8080'", "'[fe80::1]:8080'", "'[::ffff:10.0.0.1]:1'"])
    func `an address that others can reach is refused without callers`(written: String) {
        #expect(
            faults(of: SampleFile().adding("listeners: [{ address: \(written) }]").text) == [
                "12:24: listeners[0].address: must be a loopback address such as 127.0.0.1 or [::1], or a Unix "
                    + "socket: a gateway that others can reach needs callers"
            ]
        )
    }

    @Test(arguments: [
        "8080", "localhost:8080", "':8080'", "127.0.0.1", "127.1:8080", "'::1:8080'", "'[::1:8080'", "'[fe80::1%lo]:1'",
    ])
    func `a malformed address is reported with an example`(written: String) {
        #expect(
            faults(of: SampleFile().adding("listeners: [{ address: \(written) }]").text) == [
                "12:24: listeners[0].address: expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080"
            ]
        )
    }

    @Test(arguments: ["'127.0.0.1:'", "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1:http", "127.0.0.1:000080"])
    func `a malformed port is reported with the valid range`(written: String) {
        #expect(
            faults(of: SampleFile().adding("listeners: [{ address: \(written) }]").text) == [
                "12:24: listeners[0].address: "
                    + "has no port between 0 and 65535 behind its last colon; an IPv6 address needs brackets: [::1]"
            ]
        )
    }

    @Test func `a listener needs an address`() {
        #expect(faults(of: SampleFile().adding("listeners: [{}]").text) == ["12:13: listeners[0]: address is missing"])
    }

    @Test(arguments: [
        (
            "listeners: [{ address: 127.0.0.1:1 }, { address: 127.0.0.1:1 }]",
            "12:50: listeners[1].address: is the address of listeners[0] too"
        ),
        (
            "listeners: [{ address: unix:/m }, { address: unix:/m }]",
            "12:46: listeners[1].address: is the address of listeners[0] too"
        ),
        (
            "admin: { address: 127.0.0.1:8080 }",
            "12:19: admin.address: is the address of listeners[0] too"
        ),
        (
            "listeners: [{ address: 127.0.0.1:1 }, { address: 127.0.0.1:8081 }]",
            "1:1: admin.address is missing, and its default 127.0.0.1:8081 is the address of listeners[1]"
        ),
        (
            "admin: { address: 0.0.0.0:8081 }",
            "12:19: admin.address: must be a loopback address such as 127.0.0.1 or [::1]: "
                + "another needs tls, or allow_cleartext: true"
        ),
    ])
    func `listeners need different addresses, and admin a loopback address`(line: String, fault: String) {
        #expect(faults(of: SampleFile().adding(line).text) == [fault])
    }

    @Test func `ports that the system chooses never collide`() {
        let line = "listeners: [{ address: 127.0.0.1:0 }, { address: 127.0.0.1:0 }]\nadmin: { address: 127.0.0.1:0 }"
        #expect(faults(of: SampleFile().adding(line).text) == [])
    }
}
