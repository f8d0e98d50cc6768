package import HTTPWire
package import NIOCore
import TokenModel

extension GatewayError {
    /// Status code and reason phrase.
    package var status: (code: Int, reason: StaticString) {
        switch self.code {
        case .badRequest: (400, "Bad Request")
        case .callerUnknown: (401, "Unauthorized")
        case .callerForbidden: (403, "Forbidden")
        case .noRoute: (404, "Not Found")
        case .methodNotAllowed: (405, "Method Not Allowed")
        case .bodyTimeout: (408, "Request Timeout")
        case .lengthRequired: (411, "Length Required")
        case .targetTooLong: (414, "URI Too Long")
        case .expectationFailed: (417, "Expectation Failed")
        case .headTooLarge: (431, "Request Header Fields Too Large")
        case .notImplemented: (501, "Not Implemented")
        case .upstreamUnreachable, .upstreamReset, .upstreamInvalid, .providerConfig: (502, "Bad Gateway")
        case .refreshFailed, .reauthorizationRequired, .accountEmpty, .accountUnreadable, .killed, .storeLost,
            .overloaded, .locked, .approvalRequired:
            (503, "Service Unavailable")
        case .upstreamTimeout: (504, "Gateway Timeout")
        case .versionUnsupported: (505, "HTTP Version Not Supported")
        case .loopDetected: (508, "Loop Detected")
        }
    }

    /// One line for people that says what happened.
    private var title: StaticString {
        switch self.code {
        case .badRequest: "The request is not valid HTTP"
        case .targetTooLong: "The request target is too long"
        case .headTooLarge: "The request head is too large"
        case .methodNotAllowed: "The method is not served"
        case .expectationFailed: "The expectation can't be met"
        case .notImplemented: "The transfer coding is not supported"
        case .versionUnsupported: "The HTTP version is not supported"
        case .callerUnknown: "Missing or unknown caller key"
        case .callerForbidden: "The caller may not do this"
        case .lengthRequired: "The upstream needs the body's length"
        case .noRoute: "No route matches the request"
        case .loopDetected: "The request has passed the gateway before"
        case .bodyTimeout: "The caller stopped sending"
        case .upstreamUnreachable: "The upstream can't be reached"
        case .upstreamReset: "The upstream closed the connection"
        case .upstreamInvalid: "The upstream's response is not valid HTTP"
        case .upstreamTimeout: "The upstream did not answer in time"
        case .refreshFailed: "No valid token, and no new one available now"
        case .providerConfig: "The provider refuses the gateway's client"
        case .reauthorizationRequired: "The account must be authorized again"
        case .accountEmpty: "The account has no tokens yet"
        case .accountUnreadable: "The account's stored record can't be decrypted"
        case .killed: "The kill switch holds"
        case .storeLost: "The token store is out of reach"
        case .overloaded: "The gateway is at its limit"
        case .locked: "The gateway is locked"
        case .approvalRequired: "The account's use must be approved"
        }
    }

    /// What the caller is told beyond the title: a specific reason where there is one, otherwise the code's usual
    /// detail.
    package var detail: String {
        if let rule = self.rule { return "\(rule.rawValue): \(rule.finding)" }
        return "\(self.reason ?? self.usualDetail)"
    }

    private var usualDetail: StaticString {
        switch self.code {
        case .badRequest: "the request could be read in more than one way, or not at all"
        case .targetTooLong: "the request target is longer than limits.target"
        case .headTooLarge: "the head is larger than limits.head, limits.field or limits.fields"
        case .methodNotAllowed: "TRACE, TRACK and CONNECT are not served"
        case .expectationFailed: "only 100-continue is expected here"
        case .notImplemented: "only chunked is known"
        case .versionUnsupported: "only HTTP/1 is known"
        case .callerUnknown:
            "send a key in Martlet-Key, as Authorization: Bearer, or as the password of Authorization: Basic"
        case .callerForbidden: "this caller may not use the route, its account or the method; web pages may use nothing"
        case .noRoute: "no route matches the host and path; see the routes of martlet.yaml"
        case .loopDetected: "its Via names this gateway: an upstream leads back to it"
        case .lengthRequired:
            "the upstream speaks HTTP/1.0: send Content-Length, or a body within the route's replay limit"
        case .bodyTimeout: "the request's body stopped coming; the connection closes, send the request again"
        case .upstreamUnreachable: "no connection to the route's upstream; is it up, and its name right?"
        case .upstreamReset: "it may have seen the request, which is not sent twice"
        case .upstreamInvalid: "its answer breaks HTTP/1.1; the connection was thrown away"
        case .upstreamTimeout: "the route's timeouts say how long it may take"
        case .refreshFailed: "the provider can't be reached or says later; try again"
        case .providerConfig:
            "the provider refuses the client_id, its secret, or what is asked for, or another answers; the operator must look"
        case .reauthorizationRequired: "the refresh token is dead: an operator runs martlet login NAME"
        case .accountEmpty: "it has no tokens yet: an operator runs martlet login NAME"
        case .accountUnreadable: "it is kept as it is; the operator must look"
        case .killed: "an operator has stopped the use of these tokens"
        case .storeLost: "tokens can't be refreshed without it; try again"
        case .overloaded: "too many requests wait for a token or a connection; try again"
        case .locked: "it holds no token until an operator runs martlet unlock"
        case .approvalRequired: "no approval stands: an operator runs martlet approve NAME"
        }
    }

    /// The nearest proxy error type of RFC 9209 §2.3.
    private var proxyStatus: StaticString {
        switch self.code {
        case .badRequest, .targetTooLong, .headTooLarge, .methodNotAllowed, .expectationFailed, .notImplemented,
            .versionUnsupported, .lengthRequired, .bodyTimeout:
            "http_request_error"
        case .noRoute: "destination_not_found"
        case .loopDetected: "proxy_loop_detected"
        case .upstreamUnreachable: "destination_unavailable"
        case .upstreamReset: "connection_terminated"
        case .upstreamInvalid: "http_protocol_error"
        case .upstreamTimeout: "http_response_timeout"
        case .providerConfig: "proxy_configuration_error"
        case .callerUnknown, .callerForbidden, .killed, .accountEmpty, .reauthorizationRequired, .locked,
            .approvalRequired:
            "http_request_denied"
        case .refreshFailed, .accountUnreadable, .storeLost: "proxy_internal_error"
        case .overloaded: "connection_limit_reached"
        }
    }

    /// The whole response: `application/problem+json` (RFC 9457) with `Proxy-Status` (RFC 9209).
    ///
    /// - Parameters:
    ///   - method: the request's method, where one could be read: HEAD gets no body.
    ///   - keepAlive: adds `Connection: keep-alive`, for a caller that speaks HTTP/1.0 and asked for it.
    ///   - cacheLines: whole lines that a response cache adds, each with its CRLF.
    package func reply(
        to method: HTTPMethod,
        close: Bool,
        keepAlive: Bool = false,
        cacheLines: [UInt8] = []
    ) -> LocalReply {
        let body = self.problem
        var reply = ByteBuffer()
        reply.reserveCapacity(320 + body.utf8.count)
        let statusLineLength = reply.writeString("HTTP/1.1 \(self.status.code) \(self.status.reason)\r\n")
        reply.writeString("Content-Type: application/problem+json\r\nContent-Length: \(body.utf8.count)\r\n")
        reply.writeString("Cache-Control: no-store\r\nProxy-Status: martlet; error=\(self.proxyStatus)\r\n")
        if self.code == .methodNotAllowed { reply.writeStaticString(LocalReply.allow) }
        if self.code == .callerUnknown { reply.writeStaticString("WWW-Authenticate: Bearer realm=\"martlet\"\r\n") }
        if let seconds = self.retryAfterSeconds { reply.writeString("Retry-After: \(seconds)\r\n") }
        if close { reply.writeStaticString("Connection: close\r\n") }
        if keepAlive { reply.writeStaticString("Connection: keep-alive\r\n") }
        reply.writeBytes(cacheLines)
        reply.writeString("\r\n")
        let bodyLength = method == .head ? 0 : reply.writeString(body)
        return LocalReply(bytes: reply, statusLineLength: statusLineLength, bodyLength: bodyLength)
    }

    /// How long to wait where the error does not say; `nil` for codes that don't promise `Retry-After`.
    private var usualWait: Duration? {
        switch self.code {
        case .refreshFailed, .storeLost, .overloaded, .approvalRequired: .seconds(1)
        // A person has to come.
        case .locked: .seconds(30)
        default: nil
        }
    }

    /// Whole seconds, at least 1. The codes that promise `Retry-After` always have a value.
    private var retryAfterSeconds: Int64? {
        guard let wait = self.retryAfter ?? self.usualWait else { return nil }
        return max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
    }

    private var problem: String {
        var members = [
            ("type", "urn:martlet:error:\(self.code.rawValue)"), ("title", "\(self.title)"),
            ("detail", self.detail),
        ]
        if let account = self.account { members.append(("account", account.rawValue)) }
        if let route = self.route { members.append(("route", route)) }
        let texts = members.map { "\"\($0.0)\":\(Self.quoted($0.1))" }
        return "{\(texts.joined(separator: ",")),\"status\":\(self.status.code)}"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..<" ": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// A response that the gateway makes itself.
package struct LocalReply {
    /// Head and body without `Date`, so that they are the same at any time.
    package let bytes: ByteBuffer
    /// Length of the status line with its CRLF at the start of ``bytes``, in bytes.
    let statusLineLength: Int
    /// Length of the body at the end of ``bytes``, in bytes.
    package let bodyLength: Int

    /// The `Allow` line of the methods that are served by name.
    static let allow: StaticString = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"

    /// The response to an OPTIONS request that goes no further.
    static func options(close: Bool, keepAlive: Bool) -> LocalReply {
        var reply = ByteBuffer()
        let statusLineLength = reply.writeString("HTTP/1.1 200 OK\r\n")
        reply.writeStaticString("Content-Length: 0\r\nCache-Control: no-store\r\nProxy-Status: martlet\r\n")
        reply.writeStaticString(self.allow)
        if close { reply.writeStaticString("Connection: close\r\n") }
        if keepAlive { reply.writeStaticString("Connection: keep-alive\r\n") }
        reply.writeStaticString("\r\n")
        return LocalReply(bytes: reply, statusLineLength: statusLineLength, bodyLength: 0)
    }

    /// Head and body as they are sent, with the date behind the status line.
    ///
    /// - Parameter date: the `Date` line with its CRLF.
    package func bytes(with date: ByteBuffer) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(self.bytes.readableBytes + date.readableBytes)
        var rest = self.bytes
        if let statusLine = rest.readSlice(length: self.statusLineLength) { bytes.writeImmutableBuffer(statusLine) }
        bytes.writeImmutableBuffer(date)
        bytes.writeImmutableBuffer(rest)
        return bytes
    }
}
