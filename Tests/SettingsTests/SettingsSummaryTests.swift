import Settings
import Testing

@Suite struct SettingsSummaryTests {
    @Test func `a configuration is summarized in plain lines`() throws {
        let settings = try settings(
            of: #"""
                state_dir: /s
                metrics: { address: "[::]:8082" }
                listeners: [{ address: 127.0.0.1:8080 }, { address: "[::1]:8080" }]
                providers:
                  acme:
                    issuer: https://login.acme.example
                    token_endpoint: https://login.acme.example/token?key=canary
                    client_id: my-app
                    client_secret: { file: /run/secrets/acme }
                    tls: { ca: roots.pem }
                    refresh: on_expiry
                    keep_alive: 48h
                    token_params: { resource: canary, audience: canary }
                  local: { token_endpoint: http://idp.lan/token, client_id: b, client_secret: { env: S }, allow_cleartext: true }
                accounts:
                  alice: { provider: acme, scopes: [read, write] }
                  bob: { provider: local }
                routes:
                  - name: acme
                    match: { path: /acme/ }
                    upstream: http://127.0.0.1:9000/v2/
                    account: alice
                  - name: raw
                    match: { path: / }
                    upstream: http://127.0.0.1:9001/
                    account: alice
                    strip: false
                    via: false
                    inject: { header: X-Key, prefix: "" }
                    replay: { body_limit: 0B }
                    timeouts: { connect: 90s, idle: 1500ms }
                """#,
            variables: ["S": "canary"],
            secrets: ["/run/secrets/acme": "canary"]
        )

        let summary = SettingsSummary(settings).description

        #expect(
            summary == """
                callers connect to 127.0.0.1:8080 and [::1]:8080
                admin on 127.0.0.1:8081, tokens in /s/admin.token, and without one on the socket /s/admin.sock
                metrics on [::]:8082, without a token
                state in /s
                store sqlite at /s/tokens.db, sealed with the key in /s/sealing.key
                replica of the host's name, lease 10s
                limits head 32KiB, field 16KiB, fields 200, target 8KiB, waiters 10000
                connections 10000, idle for 1m, a head within 10s, all of them in 64MiB, a handshake within 10s, bodies at 1KiB a second or more, 64MiB of them kept
                log info and above as json, and a line per request
                a stop waits up to 30s for requests in flight
                providers:
                  acme: issuer https://login.acme.example, tokens from https://login.acme.example/token?…
                    client my-app, authentication client_secret_basic, secret from file /run/secrets/acme
                    timeout 8s, answer timeout 1m, default lifetime 1h, trusts only the roots in /etc/martlet/roots.pem
                    refresh on expiry, kept alive after 48h without use, token requests carry audience resource
                    sign-in as the issuer's metadata says, back to http://127.0.0.1/callback
                  local: tokens from http://idp.lan/token
                    client b, authentication client_secret_basic, secret from environment variable S
                    timeout 8s, answer timeout 1m, default lifetime 1h, cleartext allowed
                    refresh ahead of expiry, kept alive after 24h without use
                    sign-in not possible: authorization_endpoint or issuer is missing
                accounts:
                  alice: refresh_token at acme, scopes read write
                  bob: refresh_token at local
                routes:
                  acme: any host /acme/ -> http://127.0.0.1:9000/v2/ as alice
                    Authorization: Bearer <token>, replay of bodies up to 64KiB, connect 5s, response 5m, idle 5m, 1024 connections per event loop for 10m each
                  raw: any host / -> http://127.0.0.1:9001/ as alice
                    X-Key: <token>, replay of bodies none, matched path kept, no Via, connect 90s, response 5m, idle 1500ms, 1024 connections per event loop for 10m each
                  some upstreams compress nothing for requests with Via, as nginx by default; see via: false
                no callers: whoever can connect may use every account, but for web pages
                warnings:
                  martlet.yaml:17:3: accounts.bob: no route uses it
                """
        )
        #expect(!summary.contains("canary"))
    }

    @Test func `the summary lists what callers may use, but not their keys`() throws {
        let digest = String(repeating: "ab", count: 32)
        let other = String(repeating: "cd", count: 32)
        let callers = """
            callers:
              - { name: reports, key_sha256: \(digest), routes: [acme], accounts: [alice], methods: [GET, POST] }
              - { name: batch, key_sha256: [\(other), \(String(repeating: "ef", count: 32))] }
            """
        let summary = SettingsSummary(try settings(of: SampleFile().adding(callers).text)).description
        #expect(summary.contains("callers:\n  reports: one key, routes acme, accounts alice, methods GET POST\n"))
        #expect(summary.contains("  batch: 2 keys, all routes, all accounts, all methods"))
        #expect(!summary.contains(digest) && !summary.contains(other))
    }

    @Test func `the summary names the admin's certificate and a socket path that is too long`() throws {
        let admin = """
            state_dir: /s
            admin: { address: 10.0.0.1:1, tls: { certificate: c.pem, key: k.pem }, socket: \(String(repeating: "a", count: 99)) }
            """
        let lines = SettingsSummary(
            try settings(of: SampleFile().adding(admin).text, secrets: ["/etc/martlet/k.pem": "k"])
        ).lines
        #expect(
            lines.contains(
                "admin on 10.0.0.1:1 over TLS with /etc/martlet/c.pem, tokens in /s/admin.token, and no socket: more than 100 bytes "
                    + "/s/\(String(repeating: "a", count: 99))"
            )
        )
    }

    @Test func `the summary names what is missing`() throws {
        let text = "providers: {}\naccounts: {}\nroutes: []\nstore: { driver: memory }\n"
        let lines = SettingsSummary(try settings(of: text)).lines
        #expect(lines.contains("store in memory, all tokens are gone when the process ends"))
        #expect(lines.contains("no providers") && lines.contains("no accounts") && lines.contains("no routes"))
    }
}
