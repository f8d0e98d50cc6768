import OAuth
import Testing
import TokenModel

@Suite struct DeviceAuthorizationTests {
    private static func response(_ status: Int, _ body: String) -> ProviderResponse {
        ProviderResponse(status: status, contentType: "application/json", body: Secret(body), bodyEnd: .proven)
    }

    private static func read(_ fields: String) throws -> DeviceAuthorization {
        try DeviceAuthorization(Self.response(200, "{\(fields)}"))
    }

    private static let least = #""device_code":"d1","user_code":"WDJB-MJHT","verification_uri":"https://a.example/d""#

    @Test func `codes, addresses and times are read`() throws {
        let device = try Self.read(
            Self.least + #","verification_uri_complete":"https://a.example/d?c=WDJB","expires_in":300,"interval":7"#
        )
        #expect(device.deviceCode == Secret("d1"))
        #expect(device.userCode == "WDJB-MJHT")
        #expect(device.verificationURI == "https://a.example/d")
        #expect(device.verificationURIComplete == "https://a.example/d?c=WDJB")
        #expect(device.lifetime == .seconds(300))
        #expect(device.interval == .seconds(7))
    }

    @Test func `Google's older name for the address is understood`() throws {
        let device = try Self.read(#""device_code":"d","user_code":"u","verification_url":"https://a.example/d""#)
        #expect(device.verificationURI == "https://a.example/d")
    }

    @Test(arguments: [
        ("", 600, 5), (#","expires_in":"120","interval":"10""#, 120, 10),
        (#","expires_in":86400,"interval":3600"#, 600, 60),
        (#","expires_in":0,"interval":0"#, 600, 5), (#","expires_in":-1,"interval":-1"#, 600, 5),
        (#","expires_in":1e999,"interval":1e999"#, 600, 60), (#","expires_in":0.5,"interval":0.5"#, 1, 1),
        (#","expires_in":[],"interval":null"#, 600, 5),
    ])
    func `times are clamped, and have defaults`(fields: String, lifetime: Int, interval: Int) throws {
        let device = try Self.read(Self.least + fields)
        #expect(device.lifetime == .seconds(lifetime))
        #expect(device.interval == .seconds(interval))
    }

    @Test(arguments: [
        #""user_code":"u","verification_uri":"https://a.example/d""#,
        #""device_code":"","user_code":"u","verification_uri":"https://a.example/d""#,
        #""device_code":"d\n","user_code":"u","verification_uri":"https://a.example/d""#,
        #""device_code":"d","verification_uri":"https://a.example/d""#,
        #""device_code":"d","user_code":"","verification_uri":"https://a.example/d""#,
        #""device_code":"d","user_code":"\u001b[2J","verification_uri":"https://a.example/d""#,
        #""device_code":"d","user_code":"u"#
            + "u123456789012345678901234567890123456789012345678901234567890uuuu\",\"verification_uri\":\"https://a.example/\"",
        #""device_code":"d","user_code":"é","verification_uri":"https://a.example/d""#,
        #""device_code":"d","user_code":"u""#,
        #""device_code":"d","user_code":"u","verification_uri":"http://a.example/d""#,
        #""device_code":"d","user_code":"u","verification_uri":"javascript:alert(1)""#,
        #""device_code":"d","user_code":"u","verification_uri":"https://a.example/d#<b>""#,
        #""device_code":"d","user_code":"u","verification_uri":"https://a.example/\u001b[2J""#,
        #""device_code":"d","device_code":"e","user_code":"u","verification_uri":"https://a.example/d""#,
    ])
    func `what can't be shown or redeemed is refused`(fields: String) {
        #expect(throws: EndpointFault.malformed(.answerUnreadable)) { try Self.read(fields) }
    }

    @Test(arguments: [
        ("http://127.0.0.1:9090/device", true), ("https://a.example/#/device", true), ("http://a.example/d", false),
        ("javascript:1", false), ("", false),
    ])
    func `an address with the code in it is used only if a person may open it`(address: String, isUsed: Bool) throws {
        let device = try Self.read(Self.least + #","verification_uri_complete":"\#(address)""#)
        #expect(device.verificationURIComplete == (isUsed ? address : nil))
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_scope"}"#, EndpointFault.refused(reason("invalid_scope"))),
        (200, #"{"error":"invalid_scope"}"#, .refused(reason("invalid_scope"))),
        (200, #"{"ok":false}"#, .refused(.noKnownReason)),
        (401, #"{"error":"invalid_client"}"#, .clientRefused(reason("invalid_client"))),
        (401, "", .refused(.answerEmpty)),
        (429, "", .unavailable(.tooManyRequests)),
        (503, "", .unavailable(.serverError)),
        (500, #"{"error":"server_error"}"#, .unavailable(.serverError)),
        (302, "", .unavailable(.redirected)),
        (404, "<html>", .unavailable(.answerHTML)),
        (200, "<html>", .malformed(.answerHTML)),
        (200, "", .malformed(.answerEmpty)),
        (200, "{}", .malformed(.answerUnreadable)),
    ])
    func `each other response has its fault, for a device and for a pushed request`(
        status: Int,
        body: String,
        fault: EndpointFault
    ) {
        #expect(throws: fault) { try DeviceAuthorization(Self.response(status, body)) }
        #expect(throws: fault) { try PushedAuthorization(Self.response(status, body)) }
        #expect(fault.name.allSatisfy { $0.isLowercase || $0 == "_" })
    }

    @Test(arguments: ["", "a b", "é", String(repeating: "x", count: 2049)])
    func `a reference that can't stand in an address is refused`(requestURI: String) {
        #expect(throws: EndpointFault.malformed(.answerUnreadable)) {
            try PushedAuthorization(Self.response(201, #"{"request_uri":"\#(requestURI)"}"#))
        }
    }

    @Test(
        arguments: [400, 401, 403, 428, 200],
        ["authorization_pending", "slow_down", "access_denied", "expired_token"]
    )
    func `while a person has not agreed, the verdict is a refusal with the provider's code`(status: Int, code: String) {
        #expect(verdict(answer(status, #"{"error":"\#(code)"}"#)) == .refused(reason(code)))
    }
}
