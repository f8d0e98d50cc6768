internal import Glibc
internal import HTTPWire
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import SystemSupport
package import TokenModel

/// Listens on loopback for the browser that a provider sends back. One request per connection.
package final class LoopbackListener: Sendable {
    /// What the command makes of an answer.
    package enum Response: Sendable {
        /// The sign-in has ended; the page says how.
        case over(LoopbackPage)
        /// It was no answer to this sign-in.
        case refused(reason: String)
    }

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Where it listens.
    package let site: LoopbackSite
    private let listeners: [ConnectionListener<Connection>]
    private let desk: Desk

    /// Enough for a browser that opens connections ahead of its requests.
    private static let mostConnections = 16
    /// For each head, and for each response.
    private static let patience = TimeAmount.seconds(10)
    private static let limits = HeadLimits(head: 16 << 10, field: 16 << 10, fields: 100, target: 16 << 10)

    private init(_ site: LoopbackSite, _ listeners: [ConnectionListener<Connection>], _ desk: Desk) {
        self.site = site
        self.listeners = listeners
        self.desk = desk
    }

    /// Opens the sockets. Connections wait there for ``run(_:)``.
    ///
    /// - Throws: if nothing can listen at the redirect URI.
    package static func open(_ redirect: LoopbackRedirect) async throws(CommandFailure) -> LoopbackListener {
        let desk = Desk()
        var listeners: [ConnectionListener<Connection>] = []
        var port = redirect.port ?? 0
        for address in redirect.addresses {
            do {
                let listener = try await Self.listener(address, port, desk)
                listeners.append(listener)
                port = listener.channel.localAddress?.port ?? port
            } catch {
                // Without IPv6 there is no `::1`.
                guard listeners.isEmpty else { continue }
                let reason = (error as? IOError).map { SystemText.reason($0.errnoCode) } ?? "the system refuses"
                let place = redirect.port.map { "port \($0) of \(redirect.host)" } ?? redirect.host
                throw CommandFailure(
                    .unavailable,
                    "can't listen at \(place), where the browser will be sent: \(reason); --paste needs no port"
                )
            }
        }
        return LoopbackListener(LoopbackSite(redirect, port: port), listeners, desk)
    }

    /// Serves browsers until the task is cancelled, or ``close()`` is called. Call it once.
    ///
    /// - Parameter answer: hands an answer to the gateway. It may be called several times, also at once.
    package func run(_ answer: @escaping @Sendable (SignInAnswer) async -> Response) async {
        self.desk.open(self.site, answer)
        await withTaskGroup(of: Void.self) { tasks in
            for listener in self.listeners { tasks.addTask { await listener.run() } }
        }
    }

    /// Closes the sockets.
    package func close() {
        for listener in self.listeners { listener.close() }
    }

    /// Returns when a browser has got the page about the outcome, but within `patience`.
    package func awaitReader(within patience: Duration, clock: Timepiece) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { for await _ in self.desk.readers { return } }
            tasks.addTask { await clock.rest(until: clock.now.boot.advanced(by: patience)) }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private static func listener(
        _ address: String,
        _ port: Int,
        _ desk: Desk
    ) async throws -> ConnectionListener<Connection> {
        try await ConnectionListener.bind(
            host: address,
            port: port,
            backlog: 16,
            on: MultiThreadedEventLoopGroup.singleton,
            prepare: { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Connection(wrappingChannelSynchronously: channel)
                }
            },
            handle: { await Self.serve($0, at: desk) }
        )
    }

    /// Reads one request and writes one response. Errors mean that the browser is gone, and concern nobody else.
    private static func serve(_ connection: Connection, at desk: Desk) async {
        let isRoom = desk.enter(upTo: Self.mostConnections)
        defer { desk.leave() }
        let channel = connection.channel
        _ = try? await connection.executeThenClose { inbound, outbound in
            guard isRoom else { return }
            let alarm = Self.alarm(on: channel)
            let request = try await Self.request(from: inbound)
            alarm.cancel()
            guard let request else { return }
            let (page, isOutcome) = await desk.page(for: request)
            let lastAlarm = Self.alarm(on: channel)
            defer { lastAlarm.cancel() }
            try await outbound.write(ByteBuffer(bytes: page.response))
            if isOutcome { desk.outcomeWasRead() }
        }
    }

    /// Closes a connection that is too slow.
    private static func alarm(on channel: any Channel) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    /// - Returns: `nil` if the connection ended without a request; a failure if there is a wrong one.
    private static func request(
        from inbound: NIOAsyncChannelInboundStream<ByteBuffer>
    ) async throws -> Result<LoopbackRequest, WireError>? {
        var parser = RequestHeadParser(limits: Self.limits)
        var buffer = ByteBuffer()
        for try await part in inbound {
            buffer.writeImmutableBuffer(part)
            do throws(WireError) {
                guard let head = try parser.next(&buffer) else { continue }
                guard let request = LoopbackRequest(head) else {
                    return .failure(WireError(.badRequest, "a target in absolute form"))
                }
                return .success(request)
            } catch {
                return .failure(error)
            }
        }
        return nil
    }
}

/// What all connections of a listener share.
private final class Desk: Sendable {
    private struct State {
        var site: LoopbackSite?
        var answer: (@Sendable (SignInAnswer) async -> LoopbackListener.Response)?
        /// The page about the outcome, once there is one.
        var outcome: LoopbackPage?
        var connections = 0
    }

    private let state = Mutex(State())
    /// One element for each time the page about the outcome was sent.
    let readers: AsyncStream<Void>
    private let reader: AsyncStream<Void>.Continuation

    init() {
        (self.readers, self.reader) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    func open(_ site: LoopbackSite, _ answer: @escaping @Sendable (SignInAnswer) async -> LoopbackListener.Response) {
        self.state.withLock { state in
            state.site = site
            state.answer = answer
        }
    }

    /// Counts a connection. Returns whether there is room for it; ``leave()`` follows in any case.
    func enter(upTo limit: Int) -> Bool {
        self.state.withLock { state in
            state.connections += 1
            return state.connections <= limit
        }
    }

    func leave() { self.state.withLock { $0.connections -= 1 } }

    func outcomeWasRead() { self.reader.yield() }

    /// The page for a request, and whether it is the one about the outcome.
    func page(for request: Result<LoopbackRequest, WireError>) async -> (page: LoopbackPage, isOutcome: Bool) {
        let (site, answer, outcome) = self.state.withLock { ($0.site, $0.answer, $0.outcome) }
        guard let site, let answer, case .success(let request) = request else {
            return (.refusal(.malformed), false)
        }
        switch site.verdict(on: request) {
        case .refuse(let refusal): return (.refusal(refusal), false)
        case .outcome: return outcome.map { ($0, true) } ?? (.refusal(.unknown), false)
        // A page that is loaded again.
        case .answer where outcome != nil: return (.redirect(to: site.outcomePath), false)
        case .answer(let address):
            switch await answer(address) {
            case .refused(let reason): return (.refusal(reason), false)
            case .over(let page):
                self.state.withLock { $0.outcome = page }
                return (.redirect(to: site.outcomePath), false)
            }
        }
    }
}
