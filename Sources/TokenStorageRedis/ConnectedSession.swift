internal import NIOCore
internal import NIOSSL
internal import TokenModel

/// A session with the primary, ready for calls.
struct ConnectedSession: Sendable {
    /// How long connecting to one host may take while calls wait.
    static let limit = Duration.milliseconds(1_000)
    /// How long it may take when a store is opened: no call waits then.
    static let openingLimit = Duration.seconds(5)
    /// How many nodes of a cluster may refer to the next one.
    private static let mostMoves = 3

    let session: Session
    let info: ServerInfo

    /// Connects to the first host that is a primary and no former one.
    ///
    /// - Parameters:
    ///   - limit: how long each host may take.
    ///   - creates: whether missing records are made; `nil` after the first connection, which must find those that were
    ///     there.
    /// - Throws: what each host said.
    static func open(
        _ server: RedisServer,
        _ primary: PrimaryRecord,
        on group: any EventLoopGroup,
        within limit: Duration,
        creates: Bool? = nil,
        listeningBy pushed: (@Sendable ([RESPValue]) -> Void)? = nil
    ) async throws(SessionError) -> ConnectedSession {
        let hosts =
            if let sentinels = server.sentinels {
                [try await sentinels.primary(of: server, primary, on: group, within: limit / 2)]
            } else {
                primary.order(of: server.hosts)
            }
        let opening = Opening(
            server: server,
            primary: primary,
            group: group,
            limit: limit,
            creates: creates,
            pushed: pushed
        )
        var failures: [(host: RedisServer.Host, error: SessionError)] = []
        for host in hosts {
            do throws(SessionError) {
                return try await opening.connect(to: host, moves: 0)
            } catch {
                primary.failed(host)
                failures.append((host, error))
            }
        }
        guard let first = failures.first else { throw SessionError("no host") }
        guard failures.count > 1 || server.sentinels != nil else { throw first.error }
        // The most telling failure gives the meaning: what a primary said, rather than that a host is none.
        let telling = failures.first { $0.error.meaning != .outage && $0.error.meaning != .notPrimary } ?? first
        throw SessionError(
            failures.map { "\($0.host.text): \($0.error.message)" }.joined(separator: "; "),
            telling.error.meaning
        )
    }

    private struct Opening {
        let server: RedisServer
        let primary: PrimaryRecord
        let group: any EventLoopGroup
        let limit: Duration
        let creates: Bool?
        let pushed: (@Sendable ([RESPValue]) -> Void)?

        var layout: Layout { Layout(prefix: self.server.prefix) }

        func connect(to host: RedisServer.Host, moves: Int) async throws(SessionError) -> ConnectedSession {
            let deadline = ContinuousClock.now + self.limit
            let session = try await Session.logIn(
                to: host,
                tls: try self.server.tls(),
                user: self.server.user,
                password: self.server.password,
                on: self.group,
                by: deadline,
                pushed: self.pushed ?? { _ in }
            )
            let next: RedisServer.Host
            do throws(SessionError) {
                try await self.selectDatabase(of: session, by: deadline)
                let info = try ServerInfo(try await session.perform([.info], by: deadline).first)
                guard let move = try await self.move(from: session, info, by: deadline) else {
                    try await self.prepare(session, info, by: deadline)
                    return ConnectedSession(session: session, info: info)
                }
                next = move
            } catch {
                await session.close()
                throw error
            }
            await session.close()
            guard moves < ConnectedSession.mostMoves else { throw SessionError("nodes refer to each other") }
            return try await self.connect(to: next, moves: moves + 1)
        }

        private func selectDatabase(
            of session: Session,
            by deadline: ContinuousClock.Instant
        ) async throws(SessionError) {
            let number = self.server.database
            guard number != 0 else { return }
            let reply = try await session.run([Command("SELECT", String(number))], by: deadline)
            guard case .failure(let failure)? = reply.first else { return }
            let error = SessionError(failure, from: session.host)
            throw SessionError(
                "database \(number): \(error.message)",
                error.meaning == .outage ? .settings : error.meaning
            )
        }

        /// Makes a session with the primary ready for calls.
        private func prepare(
            _ session: Session,
            _ info: ServerInfo,
            by deadline: ContinuousClock.Instant
        ) async throws(SessionError) {
            try info.check(for: self.server)
            try await self.checkRecords(of: session, by: deadline)
            try self.primary.admit(info, at: session.host)
            // A writer that lacks the right to publish or to wait is told so here, not at its first write.
            let last =
                self.pushed == nil
                ? [Command("PUBLISH", self.layout.channel, ""), Command("WAIT", "0", "1")]
                : [Command("SUBSCRIBE", self.layout.channel)]
            _ = try await session.perform(last, by: deadline)
        }

        /// The node of a cluster that has the keys, if it is not this one.
        private func move(
            from session: Session,
            _ info: ServerInfo,
            by deadline: ContinuousClock.Instant
        ) async throws(SessionError) -> RedisServer.Host? {
            guard info.isCluster, self.server.hasHashTag else { return nil }
            let reply = try await session.run([Script.readMark(self.layout)], by: deadline).first
            guard case .failure(let failure)? = reply else { return nil }
            return SessionError(failure, from: session.host).movedTo
        }

        private func checkRecords(
            of session: Session,
            by deadline: ContinuousClock.Instant
        ) async throws(SessionError) {
            guard let creates = self.creates else {
                let reply = try await session.perform([Script.readMark(self.layout)], by: deadline).first
                guard reply?.elements?.first?.bytes == self.primary.mark else {
                    self.primary.lostRecords()
                    throw .lostRecords
                }
                return
            }
            let command = Script.prepare(self.layout, mark: creates ? Layout.newMark() : [])
            guard let reply = try await session.perform([command], by: deadline).first else { throw .closed }
            switch Script.Outcome(reply) {
            case .done:
                guard let mark = reply.elements?.last?.bytes else { throw .otherProgram }
                try Layout.check(mark: mark)
                self.primary.opened(mark)
            case .nothing: throw .noRecords
            default: throw .otherProgram
            }
        }
    }
}

extension Session {
    /// Connects and logs in.
    static func logIn(
        to host: RedisServer.Host,
        tls: NIOSSLContext?,
        user: String?,
        password: Secret?,
        on group: any EventLoopGroup,
        by deadline: ContinuousClock.Instant,
        pushed: @escaping @Sendable ([RESPValue]) -> Void = { _ in }
    ) async throws(SessionError) -> Session {
        let session = try await Session.connect(to: host, tls: tls, on: group, by: deadline, pushed: pushed)
        let reply = try await session.run([.hello(user: user, password: password)], by: deadline).first
        guard case .failure(let failure)? = reply else { return session }
        await session.close()
        // A server that does not know the command repeats its arguments, the password among them.
        guard !["ERR", "NOPROTO"].contains(failure.code) else {
            throw SessionError("the server does not take HELLO 3; Redis 7.0 or later is needed, or Valkey", .settings)
        }
        throw SessionError(failure, from: host)
    }
}
