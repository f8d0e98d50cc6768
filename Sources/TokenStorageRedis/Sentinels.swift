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
        let results = await withTaskGroup { tasks in
            for host in server.hosts {
                tasks.addTask { () -> (RedisServer.Host, Result<Answer, SessionError>) in
                    do throws(SessionError) {
                        return (host, .success(try await self.ask(host, tls: tls, on: group, by: deadline)))
                    } catch {
                        return (host, .failure(error))
                    }
                }
            }
            return await tasks.reduce(into: []) { $0.append($1) }
        }
        let answers = results.compactMap { try? $0.1.get() }
        guard let latest = answers.max(by: { $0.configurationEpoch < $1.configurationEpoch }) else {
            let failures = results.compactMap { host, result -> (text: String, error: SessionError)? in
                guard case .failure(let error) = result else { return nil }
                let advice = error.meaning == .login ? " (it has a login of its own: store.sentinel_password)" : ""
                return ("Sentinel \(host.text): \(error.message)\(advice)", error)
            }
            let telling = failures.first { $0.error.meaning != .outage } ?? failures.first
            throw SessionError(failures.map(\.text).sorted().joined(separator: "; "), telling?.error.meaning ?? .outage)
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
