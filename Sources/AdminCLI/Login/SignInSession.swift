package import TokenModel

/// The admin API as a sign-in needs it.
package protocol SignInGateway: Sendable {
    /// Sends a request and returns its response, whatever its status.
    ///
    /// - Throws: ``ProgramExit/unavailable`` if there was no response.
    func exchange(_ request: AdminRequest) async throws(CommandFailure) -> AdminReply

    /// The command's failure for an error response; `nil` for a success.
    func refusal(in reply: AdminReply, of attempt: String) -> CommandFailure?
}

extension AdminClient: SignInGateway {}

/// A sign-in that has ended, and the response that said so.
package struct SignInOutcome: Equatable, Sendable {
    package let signIn: SignInReply
    /// The response's body.
    package let text: String

    init(_ signIn: SignInReply, _ reply: AdminReply) {
        self.signIn = signIn
        self.text = reply.text
    }
}

/// A sign-in that this command has started at the gateway.
package struct SignInSession: Sendable {
    /// What came of a start.
    package enum Start: Sendable {
        case started(SignInSession)
        /// The gateway wants another redirect URI, for which a provider was registered.
        case redirectDiffers(expected: String, CommandFailure)
    }

    /// What came of an answer.
    package enum Answered: Equatable, Sendable {
        /// The sign-in has ended, with or without tokens.
        case ended(SignInOutcome)
        /// It was no answer to this sign-in, which still waits.
        case refused(reason: String)
    }

    /// The sign-in as it was when it started.
    package let started: SignInReply
    /// When the sign-in expires.
    package let expires: BootInstant
    private let gateway: any SignInGateway
    private let clock: Timepiece
    /// Prints a progress message.
    private let mention: @Sendable (String) -> Void

    /// The gateway tells that a sign-in has expired, and how. The command says so by itself only if it does not.
    private static let grace = Duration.seconds(5)
    private static let interval = Duration.seconds(1)

    private init(
        _ started: SignInReply,
        at gateway: any SignInGateway,
        _ clock: Timepiece,
        _ mention: @escaping @Sendable (String) -> Void
    ) {
        self.started = started
        self.expires = clock.now.boot.advanced(by: started.lifetime)
        self.gateway = gateway
        self.clock = clock
        self.mention = mention
    }

    /// Starts a sign-in.
    ///
    /// - Parameter mention: prints a progress message.
    package static func start(
        _ order: SignInOrder,
        at gateway: any SignInGateway,
        clock: Timepiece,
        mention: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> Start {
        let request = AdminRequest.startSignIn(order.body, for: order.account)
        let reply = try await gateway.exchange(request)
        guard let failure = gateway.refusal(in: reply, of: request.attempt) else {
            return .started(SignInSession(try reply.read(), at: gateway, clock, mention))
        }
        guard let problem = reply.problem, problem.code == "invalid_field", problem.field == "redirect_uri",
            let expected = problem.expected
        else { throw failure }
        return .redirectDiffers(expected: expected, failure)
    }

    /// Hands in the address that the browser was sent to, and waits until the sign-in has ended. While the gateway is
    /// away or its store is, tries again each second: nothing is lost before the answer is taken.
    ///
    /// - Throws: if the gateway takes no answer, or none in time.
    package func answer(_ answer: SignInAnswer) async throws(CommandFailure) -> Answered {
        let request = AdminRequest.answerSignIn(self.started.id, answer.body)
        var isTold = false
        while true {
            let trouble: CommandFailure
            do throws(CommandFailure) {
                let reply = try await self.gateway.exchange(request)
                guard let failure = self.gateway.refusal(in: reply, of: request.attempt) else {
                    let signIn = try reply.read(SignInReply.self)
                    return .ended(signIn.isOver ? SignInOutcome(signIn, reply) : try await self.outcome())
                }
                switch reply.httpStatus {
                case 400 where reply.problem?.code == "invalid_field":
                    return .refused(reason: reply.problem?.detail ?? failure.message)
                case 404: throw self.displaced
                // Answered before: perhaps by this command, which did not get the response.
                case 409: return .ended(try await self.outcome(unlessPending: failure))
                case 503: trouble = failure
                default: throw failure
                }
            } catch {
                guard error.status == .unavailable else { throw error }
                trouble = error
            }
            try await self.rest(Self.interval, after: trouble, isTold: &isTold)
        }
    }

    /// Waits until the sign-in has ended.
    ///
    /// - Parameters:
    ///   - interval: how often to ask.
    ///   - failure: thrown if the sign-in still waits for an answer; `nil` waits with it.
    package func outcome(
        every interval: Duration = .seconds(1),
        unlessPending failure: CommandFailure? = nil
    ) async throws(CommandFailure) -> SignInOutcome {
        let request = AdminRequest.signIn(self.started.id)
        var isTold = false
        while true {
            var trouble: CommandFailure?
            do throws(CommandFailure) {
                let reply = try await self.gateway.exchange(request)
                if let refusal = self.gateway.refusal(in: reply, of: request.attempt) {
                    if reply.httpStatus == 404 { throw self.displaced }
                    guard reply.httpStatus == 503 else { throw refusal }
                    trouble = refusal
                } else {
                    let signIn = try reply.read(SignInReply.self)
                    if signIn.isOver { return SignInOutcome(signIn, reply) }
                    if let failure, signIn.state == "pending" { throw failure }
                }
            } catch {
                guard error.status == .unavailable else { throw error }
                trouble = error
            }
            try await self.rest(interval, after: trouble, isTold: &isTold)
        }
    }

    /// Ends the sign-in at the gateway. If the gateway is away, it expires.
    ///
    /// - Returns: the failure to end the command with.
    package func cancel() async -> CommandFailure {
        let reply = try? await self.gateway.exchange(.cancelSignIn(self.started.id))
        // A sign-in that is not known any more can't go on either.
        if let status = reply?.httpStatus, (200..<300).contains(status) || status == 404 { return Self.cancelled }
        guard reply?.httpStatus == 409 else {
            return CommandFailure(
                .no,
                "the gateway could not be told, so the sign-in for \(self.started.account) may still be completed until it expires"
            )
        }
        return CommandFailure(
            .no,
            "the answer is with the gateway already, so the sign-in goes on; martlet accounts show \(self.started.account) "
                + "tells what came of it"
        )
    }

    /// Waits before the next attempt.
    ///
    /// - Parameter trouble: why the last attempt failed; it is printed once.
    /// - Throws: if the sign-in has expired, or the task is cancelled.
    private func rest(
        _ interval: Duration,
        after trouble: CommandFailure?,
        isTold: inout Bool
    ) async throws(CommandFailure) {
        if Task.isCancelled { throw Self.cancelled }
        guard self.clock.now.boot < self.expires.advanced(by: Self.grace) else {
            let reason = trouble.map { "; \($0.message)" } ?? ""
            throw CommandFailure(.no, "the sign-in for \(self.started.account) was not completed in time\(reason)")
        }
        if let trouble, !isTold {
            isTold = true
            self.mention("\(trouble.message); trying again each second until the sign-in expires")
        }
        await self.clock.rest(until: self.clock.now.boot.advanced(by: interval))
        if Task.isCancelled { throw Self.cancelled }
    }

    private var displaced: CommandFailure {
        CommandFailure(
            .no,
            "the gateway does not know this sign-in any more: a newer one for \(self.started.account) has taken its place"
        )
    }

    /// The failure of a command that was stopped by its user.
    package static let cancelled = CommandFailure(.no, "the sign-in was cancelled")
}
