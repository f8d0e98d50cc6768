internal import AdminCLI
internal import Testing

@Suite struct AdminReplyTests {
    @Test(
        arguments: [
            (200, .done), (400, .usage), (401, .notAllowed), (403, .notAllowed), (404, .usage), (405, .no), (409, .no),
            (429, .notAllowed), (500, .no), (503, .no),
        ] as [(Int, ProgramExit)]
    )
    func `the status code determines the exit code`(httpStatus: Int, status: ProgramExit) {
        #expect(ProgramExit(httpStatus: httpStatus) == status)
        let problem = #"{"type":"urn:martlet:error:x","title":"t","status":1,"detail":"because"}"#
        let failure = AdminReply(httpStatus: httpStatus, body: Array(problem.utf8)).failure(of: "do it")
        #expect(failure == (status == .done ? nil : CommandFailure(status, "can't do it: because")))
    }

    @Test(arguments: [(401, true), (429, true), (404, false), (409, false), (503, false)])
    func `an error about a refused token names its source`(httpStatus: Int, isNamed: Bool) {
        let problem = #"{"type":"urn:martlet:error:x","title":"t","status":1,"detail":"because"}"#
        let reply = AdminReply(httpStatus: httpStatus, body: Array(problem.utf8))
        let file = reply.failure(of: "do it", tokenFrom: "/var/admin.token")
        let ofFile =
            "; the token sent is the first operator's of the file /var/admin.token: is that the file of this gateway, which reads a "
            + "changed one at SIGHUP? name another with --admin-token-file"
        #expect(file?.message == "can't do it: because\(isNamed ? ofFile : "")")
        let variable = reply.failure(of: "do it", tokenFrom: AdminAccess.tokenVariable)
        let ofVariable = "; the token sent is that of the variable MARTLET_ADMIN_TOKEN, which goes before"
        #expect(variable?.message.contains(ofVariable) == isNamed)
    }

    @Test func `exit codes are the documented ones`() {
        #expect(ProgramExit.allCases.map(\.rawValue) == [0, 1, 64, 69, 77, 78])
    }

    @Test(arguments: ["", "<html>", "{}", #"{"type":"about:blank","detail":"x"}"#])
    func `an error response of another server is not taken for the gateway's`(body: String) {
        let failure = AdminReply(httpStatus: 401, body: Array(body.utf8)).failure(of: "do it")
        #expect(failure?.status == .unavailable)
    }

    @Test(arguments: [(404, "no_route"), (401, "caller_unknown"), (403, "caller_forbidden"), (502, "upstream_timeout")])
    func `a response for callers is not taken for one of the admin API`(httpStatus: Int, code: String) {
        let problem = #"{"type":"urn:martlet:error:\#(code)","title":"t","status":1,"detail":"because"}"#
        let failure = AdminReply(httpStatus: httpStatus, body: Array(problem.utf8)).failure(of: "do it")
        #expect(failure?.status == .unavailable)
        #expect(failure?.message.hasPrefix("can't do it: that is not an admin address") == true)
    }

    @Test(arguments: ["", "<html>", "{}", "[]"])
    func `an unreadable response is attributed to another server`(body: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try AdminReply(httpStatus: 200, body: Array(body.utf8)).read(AccountsReply.self)
        }
        #expect(failure?.status == .unavailable)
    }

    @Test(
        arguments: [
            ("Error: 1 error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at x.cc:127", .notTLS),
            ("Error: 1 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at x.cc:1", .untrusted),
            ("EOF during handshake", nil), ("connection reset by peer", nil), ("", nil),
        ] as [(String, HandshakeFault?)]
    )
    func `the fault of a TLS handshake is taken from the error text`(error: String, fault: HandshakeFault?) {
        #expect(HandshakeFault(error) == fault)
    }

    @Test func `the response is printed unchanged`() {
        #expect(AdminReply(httpStatus: 200, body: Array("{\"a\": 1}\n".utf8)).text == "{\"a\": 1}")
    }

    @Test func `names in paths are percent-encoded`() {
        #expect(AdminRequest.account("a.b-c_d~1").path == "/v1/accounts/a.b-c_d~1")
        #expect(AdminRequest.refresh("a/b ?\u{e9}").path == "/v1/accounts/a%2Fb%20%3F%C3%A9/refresh")
    }

    @Test(arguments: [0, 15, 300])
    func `the response to a kill is awaited for its wait time plus 30 seconds`(wait: Int) {
        #expect(AdminRequest.kill([], wait: .seconds(wait)).patience == .seconds(wait + 30))
    }

    @Test func `a change without a response may have been done, and the error says where to look`() {
        let kill = AdminRequest.kill([], wait: .seconds(15))
        #expect(kill.doubt?.contains("martlet kills shows") == true)
        #expect(kill.within(.seconds(1)).doubt?.contains("martlet kills shows") == true)
        let changes: [AdminRequest] = [
            .revive([]), .refresh("alice"), .removeTokens(of: "alice"), .forgetReplica("a"), .purgeCaches([]),
        ]
        for request in changes {
            #expect(request.doubt?.contains("martlet audit shows") == true)
        }
        #expect(AdminRequest.kills.doubt == nil)
    }
}
