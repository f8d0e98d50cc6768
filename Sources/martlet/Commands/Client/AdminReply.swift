internal import FoundationEssentials
internal import Synchronization

/// An answer of the admin API.
package struct AdminReply: Equatable, Sendable {
    package let httpStatus: Int
    package let body: [UInt8]
    /// Which gateway has answered, as it says itself; `nil` where it says nothing of it.
    package let gateway: String?

    package init(httpStatus: Int, body: [UInt8], gateway: String? = nil) {
        self.httpStatus = httpStatus
        self.body = body
        self.gateway = gateway
    }

    /// The body as it came, without the end of its last line.
    package var text: String {
        let text = String(decoding: self.body, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    /// The body as what the API says for a request that was done.
    ///
    /// - Throws: ``ProgramExit/unavailable`` when it is nothing of the kind: then no gateway answered.
    package func read<Content: Decodable>(_ content: Content.Type = Content.self) throws(CommandFailure) -> Content {
        do {
            return try JSONDecoder().decode(content, from: Data(self.body))
        } catch {
            throw CommandFailure(
                .unavailable,
                "the answer is not one of a gateway's admin API; is another program or version listening there?"
            )
        }
    }

    /// What a refusal comes to for the command that asked, in the gateway's words; `nil` for an answer that is none.
    ///
    /// - Parameters:
    ///   - attempt: what was tried, as in `import tokens for alice`.
    ///   - origin: where the token is from that was sent. It is named where that opens nothing: the default's is not
    ///     that of a gateway elsewhere.
    package func failure(of attempt: String, tokenFrom origin: String? = nil) -> CommandFailure? {
        guard !(200..<300).contains(self.httpStatus) else { return nil }
        let status = ProgramExit(httpStatus: self.httpStatus)
        guard let problem = try? JSONDecoder().decode(ProblemReply.self, from: Data(self.body)),
            problem.type.hasPrefix("urn:martlet:error:")
        else {
            return CommandFailure(
                .unavailable,
                "can't \(attempt): the answer (\(self.httpStatus)) is not one of a gateway's admin API; is another "
                    + "program listening there?"
            )
        }
        guard !Self.isForCallers(problem.type.dropFirst("urn:martlet:error:".count)) else {
            return CommandFailure(
                .unavailable,
                "can't \(attempt): that is not an admin address, but one for callers; see admin.address of the configuration"
            )
        }
        let isRefused = self.httpStatus == 401 || self.httpStatus == 429
        let help = isRefused ? origin.map { "; \(Self.help(withTokenOf: $0))" } ?? "" : ""
        return CommandFailure(status, "can't \(attempt): \(problem.detail)\(help)")
    }

    /// Where a token came from that opens nothing, and what to look at.
    private static func help(withTokenOf origin: String) -> String {
        origin == AdminAccess.tokenVariable
            ? "the token sent is that of the variable \(origin), which goes before a configuration's token_file: unset it, or set "
                + "it to a line of that gateway's file, or name the file with --admin-token-file"
            : "the token sent is the first operator's of the file \(origin): is that the file of this gateway, which reads a changed one "
                + "at SIGHUP? name another with --admin-token-file"
    }

    /// Whether an error's code is one that only callers are answered.
    private static func isForCallers(_ code: Substring) -> Bool {
        switch code {
        case "no_route", "caller_unknown", "caller_forbidden", "account_empty", "reauthorization_required",
            "refresh_failed", "provider_config":
            true
        default: code.hasPrefix("upstream_")
        }
    }
}

/// A problem (RFC 9457), as far as it is shown.
private struct ProblemReply: Decodable {
    let type: String
    let detail: String
}

/// Tells on standard error which gateway has answered: of several on one store each knows its own requests and refreshes.
enum GatewayHerald {
    private static let last = Mutex<String?>(nil)

    /// Remembers who gave an answer to what was asked for.
    static func heard(_ reply: AdminReply, from address: String) {
        guard (200..<300).contains(reply.httpStatus) else { return }
        self.last.withLock { $0 = "answered by \(reply.gateway ?? "the gateway") at \(address)" }
    }

    /// To be called behind the results of a command that has done what it was to do: a failure is one line.
    static func tell() {
        guard let line = self.last.withLock({ $0 }) else { return }
        Console.mention(line)
    }
}
