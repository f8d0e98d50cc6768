import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct PagesTests {
    /// Opens a page that asks for consent, and returns its text and the address that a button leads to.
    func ask(_ address: ListeningAddress, _ query: String = "") async throws -> (text: String, decide: String) {
        let response = try await address.request("GET", "/oauth/authorize?\(ListeningAddress.authorization)\(query)")
        #expect(response.status == 200)
        #expect(response.value("Content-Type") == "text/html; charset=utf-8")
        #expect(response.value("Content-Security-Policy")?.contains("default-src 'none'") == true)
        let id = try #require(response.text.split(separator: #"name="id" value=""#).last?.prefix { $0 != "\"" })
        return (response.text, "/oauth/consent?id=\(id)&decision=")
    }

    @Test func `a person who approves is sent to the client with a code, once`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"consent": true}"#)
            let page = try await self.ask(address, "&scope=read&login_hint=alice")
            #expect(page.text.contains(#"<button id="approve" name="decision" value="approve">Approve</button>"#))
            #expect(page.text.contains(#"<button id="deny" name="decision" value="deny">Deny</button>"#))
            #expect(page.text.contains(#"<form action="/oauth/consent" method="get">"#))

            let redirection = try ListeningAddress.redirection(
                try await address.request("GET", "\(page.decide)approve")
            )
            #expect(redirection["state"] == "s1")
            let tokens: TokenReply = try await address.redeem(redirection).json()
            #expect(tokens.scope == "read")
            #expect(try await address.api("/api/echo", token: tokens.accessToken).json(Echo.self).account == "alice")

            let second = try await address.request("GET", "\(page.decide)approve")
            #expect(second.status == 400)
            #expect(second.value("Location") == nil)
        }
    }

    @Test func `a person who denies is sent to the client with an error`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"consent": true, "error_description": "<b>no</b>"}"#)
            let page = try await self.ask(address)
            #expect(try await address.request("GET", "\(page.decide)perhaps").status == 400)

            let redirection = try ListeningAddress.redirection(try await address.request("GET", "\(page.decide)deny"))
            #expect(redirection["error"] == "access_denied")
            #expect(redirection["error_description"] == "<b>no</b>")
            #expect(redirection["state"] == "s1")
            #expect(redirection["code"] == nil)
        }
    }

    @Test func `nothing of a request becomes markup of the page`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"consent": true}"#)
            let page = try await self.ask(address, "&scope=%3Cscript%3E%22%27%26&login_hint=%3Cimg%20src%3Dx%3E")
            #expect(page.text.contains("&lt;script&gt;&quot;&#39;&amp;"))
            #expect(page.text.contains("&lt;img src=x&gt;"))
            #expect(!page.text.contains("<script"))
            #expect(!page.text.contains("<img"))
        }
    }

    @Test(arguments: ["/oauth/device", "/oauth/device?user_code="])
    func `a person without a user code is asked for it`(target: String) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request("GET", target)
            #expect(response.status == 200)
            #expect(response.value("Content-Type") == "text/html; charset=utf-8")
            #expect(response.text.contains(#"<form action="/oauth/device" method="get">"#))
            #expect(response.text.contains(#"name="user_code""#))
        }
    }

    @Test(arguments: ["/oauth/device?user_code=ZZZZ-ZZZZ", "/oauth/device?user_code=%zz"])
    func `a user code that is not known or not readable approves nothing`(target: String) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request("GET", target)
            #expect(response.status == 400)
            #expect(response.value("Content-Type") == "text/plain; charset=utf-8")
        }
    }
}
