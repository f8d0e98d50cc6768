internal import FoundationEssentials
internal import Synchronization

/// A response of the admin API.
package struct AdminReply: Equatable, Sendable {
    package let httpStatus: Int
    package let body: [UInt8]
    /// The gateway's own name for itself; `nil` if the response doesn't contain it.
    package let gateway: String?

    package init(httpStatus: Int, body: [UInt8], gateway: String? = nil) {
        self.httpStatus = httpStatus
        self.body = body
        self.gateway = gateway
    }

    /// The body as received, without the last line's newline.
    package var text: String {
        let text = String(decoding: self.body, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// Decodes the body of a successful response.
    ///
    /// - Throws: ``ProgramExit/unavailable`` if the body has another form: then no gateway responded.
    package func read<Content: Decodable>(_ content: Content.Type = Content.self) throws(CommandFailure) -> Content {
        do {
            return try JSONDecoder().decode(content, from: Data(self.body))
        } catch {
            throw CommandFailure(
                .unavailable,
                "the response does not come from a gateway's admin API; is another program or version listening there?"
            )
        }
    }

    /// The command's failure for an error response, in the gateway's words; `nil` for a success.
    ///
    /// - Parameters:
    ///   - attempt: what was tried, such as `import tokens for alice`.
    ///   - origin: where the sent token comes from. The message names it if the token is refused, because the default
    ///     token may belong to another gateway.
    package func failure(of attempt: String, tokenFrom origin: String? = nil) -> CommandFailure? {
        guard !(200..<300).contains(self.httpStatus) else { return nil }
        guard let problem = self.problem else {
            return CommandFailure(
                .unavailable,
                "can't \(attempt): the answer (\(self.httpStatus)) is not one of a gateway's admin API; is another "
                    + "program listening there?"
            )
        }
        guard !Self.isForCallers(problem.code) else {
            return CommandFailure(
                .unavailable,
                "can't \(attempt): that is not an admin address, but one for callers; see admin.address of the configuration"
            )
        }
        // Not a token, but a passphrase was tried too often.
        let isLimited = problem.code == "unlock_limited"
        let isRefused = self.httpStatus == 401 || self.httpStatus == 429 && !isLimited
        let help = isRefused ? origin.map { "; \(Self.help(withTokenOf: $0))" } ?? "" : ""
        let status = isLimited ? .no : ProgramExit(httpStatus: self.httpStatus)
        return CommandFailure(status, "can't \(attempt): \(problem.detail)\(help)")
    }

    /// What the gateway says about the error; `nil` if the response is no error response of a gateway.
    package var problem: ProblemReply? {
        guard let problem = try? JSONDecoder().decode(ProblemReply.self, from: Data(self.body)),
            problem.type.hasPrefix(ProblemReply.origin)
        else { return nil }
        return problem
    }

    /// Advice about a token that was refused, with its origin.
    private static func help(withTokenOf origin: String) -> String {
        origin == AdminAccess.tokenVariable
            ? "the token sent is that of the variable \(origin), which goes before a configuration's token_file: unset it, or set "
                + "it to a line of that gateway's file, or name the file with --admin-token-file"
            : "the token sent is the first operator's of the file \(origin): is that the file of this gateway, which reads a changed one "
                + "at SIGHUP? name another with --admin-token-file"
    }

    /// Whether an error code occurs only in responses to callers.
    private static func isForCallers(_ code: Substring) -> Bool {
        switch code {
        case "no_route", "caller_unknown", "caller_forbidden", "account_empty", "reauthorization_required",
            "refresh_failed", "provider_config":
            true
        default: code.hasPrefix("upstream_")
        }
    }
}

/// A problem (RFC 9457), reduced to the members that commands use.
package struct ProblemReply: Decodable, Equatable, Sendable {
    package let type: String
    package let detail: String
    /// The invalid field of the request, if there is one.
    package let field: String?
    /// The value that the field must have, where there is only one.
    package let expected: String?

    /// The last word of the type, such as `invalid_field`.
    package var code: Substring { self.type.dropFirst(Self.origin.count) }

    static let origin = "urn:martlet:error:"
}

/// Prints on standard error which gateway responded. Several gateways may share a store, and each knows only its own
/// requests and refreshes.
package enum RespondingGateway {
    private static let last = Mutex<String?>(nil)

    /// Remembers the gateway that gave a successful response.
    static func heard(_ reply: AdminReply, from address: String) {
        guard (200..<300).contains(reply.httpStatus) else { return }
        self.last.withLock { $0 = "answered by \(reply.gateway ?? "the gateway") at \(address)" }
    }

    /// Call it after the results of a successful command: a failure prints one line only.
    package static func tell() {
        guard let line = self.last.withLock({ $0 }) else { return }
        Console.mention(line)
    }
}
