internal import NIOCore
internal import NIOSSL
internal import TokenModel

/// Finds the primary by asking Sentinels (Redis, "Guidelines for Redis clients with support for Redis Sentinel").
extension RedisServer.Sentinels {
    /// What one Sentinel knows.
    private struct Answer: Sendable {
        let primary: RedisServer.Host
        /// Grows with each failover.
        let configurationEpoch: UInt64
    }

    /// What one Sentinel has answered, or why it has not.
    private struct Response: Sendable {
        let host: RedisServer.Host
        var answer: Answer?
        var error: SessionError?
    }

    /// The primary that the latest failover has chosen.
    ///
    /// All Sentinels are asked at once: one that is cut off together with the former primary still names that one.
    ///
    /// - Parameter limit: how long they may take. One is often on the machine whose failure has caused the failover.
    /// - Throws: ``SessionError`` if no Sentinel responds, or if those that do have missed a failover.
    func primary(
        of server: RedisServer,
        _ record: PrimaryRecord,
        on group: any EventLoopGroup,
        within limit: Duration
    ) async throws(SessionError) -> RedisServer.Host {
        let deadline = ContinuousClock.now + limit
        let tls = try server.tls()
        let responses = await withTaskGroup(of: Response.self) { tasks in
            for host in server.hosts {
                tasks.addTask {
                    do throws(SessionError) {
                        return Response(host: host, answer: try await self.ask(host, tls: tls, on: group, by: deadline))
                    } catch {
                        return Response(host: host, error: error)
                    }
                }
            }
            return await tasks.reduce(into: [Response]()) { $0.append($1) }
        }
        let answers = responses.compactMap(\.answer)
        guard let latest = answers.max(by: { $0.configurationEpoch < $1.configurationEpoch }) else {
            let failures = responses.map { response in
                let isLogin = response.error?.meaning == .login
                let advice = isLogin ? " (it has a login of its own: store.sentinel_password)" : ""
                return "Sentinel \(response.host.text): \(response.error?.message ?? "-")\(advice)"
            }
            let meanings = responses.compactMap { $0.error?.meaning }
            throw SessionError(
                failures.sorted().joined(separator: "; "),
                meanings.first { $0 != .outage } ?? meanings.first ?? .outage
            )
        }
        try record.admit(configurationEpoch: latest.configurationEpoch)
        return latest.primary
    }

    private func ask(
        _ host: RedisServer.Host,
        tls: NIOSSLContext?,
        on group: any EventLoopGroup,
        by deadline: ContinuousClock.Instant
    ) async throws(SessionError) -> Answer {
        let session = try await Session.logIn(
            to: host,
            tls: tls,
            user: self.user,
            password: self.password,
            on: group,
            by: deadline
        )
        let reply = try await session.run([Command("SENTINEL", "MASTER", self.name)], by: deadline).first
        await session.close()
        if case .failure(let failure)? = reply {
            guard !failure.message.contains("No such master") else {
                throw SessionError("it knows no primary of the name \(self.name)", .settings)
            }
            throw SessionError(failure, from: host)
        }
        let fields = Self.fields(of: reply)
        guard let name = fields["ip"], let port = fields["port"].flatMap({ Int($0) }),
            let epoch = fields["config-epoch"].flatMap({ UInt64($0) })
        else { throw SessionError("it does not name the primary") }
        return Answer(primary: RedisServer.Host(name: name, port: port), configurationEpoch: epoch)
    }

    /// The fields of a reply, which is a map in RESP3; a list of names and values is read too.
    private static func fields(of reply: RESPValue?) -> [String: String] {
        var fields: [String: String] = [:]
        switch reply {
        case .map(let entries):
            for entry in entries { if let name = entry.key.text { fields[name] = entry.value.text } }
        case .array(let elements):
            for index in stride(from: 0, to: elements.count - 1, by: 2) {
                if let name = elements[index].text { fields[name] = elements[index + 1].text }
            }
        default: break
        }
        return fields
    }
}
