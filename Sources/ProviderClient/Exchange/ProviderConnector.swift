internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import OAuth
internal import TokenModel

/// Sends single requests to a provider and reports how they ended. It judges no response.
///
/// Each request has its own connection, without redirects, retries or decompression, over HTTP/1.1, and certificates
/// are always verified. Only the deadline or ``shutDown()`` ends an exchange in progress early, never the cancellation
/// of a task: the exchange is awaited through a future, which does not know about tasks.
final class ProviderConnector: Sendable {
    private static let connectTimeout: TimeAmount = .seconds(2)
    private static let lastLook: TimeAmount = .milliseconds(5)
    private static let connectionsPerHost = 256

    private let client: HTTPClient
    private let timeout: TimeAmount

    init(
        on group: any EventLoopGroup,
        timeout: Duration,
        trustRoots: [NIOSSLCertificate],
        identity: TLSIdentity? = nil
    ) throws(ProviderSettingsError) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.certificateVerification = .fullVerification
        if !trustRoots.isEmpty { tls.trustRoots = .certificates(trustRoots) }
        try identity?.read(into: &tls)

        var pool = HTTPClient.Configuration.ConnectionPool()
        pool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionsPerHost
        // Each failure is reported at once. The holder of the claim decides when to retry.
        pool.retryConnectionEstablishment = false

        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: Self.connectTimeout),
            connectionPool: pool,
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only

        self.timeout = .nanoseconds(timeout.clampedNanoseconds)
        self.client = HTTPClient(eventLoopGroup: group, configuration: configuration)
    }

    /// The deadline for a document that is requested now.
    func deadline() -> NIODeadline { .now() + self.timeout }

    /// Posts a form. The form is handed to the connection only when the connection is established, its TLS is
    /// verified, the head of the request is written, and `mayStillSend` returns `true`.
    ///
    /// - Parameter limit: the maximum duration of the exchange, counted from now.
    func post(
        _ request: FormRequest,
        to endpoint: ProviderURL,
        within limit: Duration,
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> ExchangeOutcome {
        let handover = FormHandover(mayStillSend: mayStillSend)
        let eventLoop = self.client.eventLoopGroup.any()
        let body = HTTPClient.Body.stream(contentLength: Int64(request.form.count)) { writer in
            guard handover.begin() else { return eventLoop.makeFailedFuture(SendingWithheld()) }
            return writer.write(.byteBuffer(request.form.withUnredacted { form in ByteBuffer(copying: form) }))
        }

        var headers = Self.headers
        headers.add(name: "Content-Type", value: FormRequest.contentType)
        if let authorization = request.authorization {
            headers.add(
                name: "Authorization",
                value: authorization.withUnredacted { value in String(buffer: ByteBuffer(copying: value)) }
            )
        }

        let deadline = NIODeadline.now() + .nanoseconds(limit.clampedNanoseconds)
        let ending = await self.run(.POST, endpoint.text, headers, body, ProviderResponse.bodyLimit, deadline: deadline)
        return switch (handover.conclude(), ending) {
        case (.handedOver, .responded(let answer)): .responded(answer)
        case (.handedOver, .failed(let error)): .broken(TransportFault.reason(error, stood: true))
        case (.withheld, _): .notSent(.sendingTooLate)
        case (.abandoned, .failed(let error)): .notSent(TransportFault.reason(error, stood: false))
        // A response to a request that was never sent.
        case (.abandoned, .responded): .notSent(.answerNotHTTP)
        }
    }

    /// Fetches a public document.
    ///
    /// - Parameter limit: its maximum size in bytes.
    func get(
        _ address: String,
        limit: Int = ProviderResponse.bodyLimit,
        deadline: NIODeadline
    ) async -> ExchangeOutcome {
        switch await self.run(.GET, address, Self.headers, nil, limit, deadline: deadline) {
        case .responded(let answer): .responded(answer)
        case .failed(let error): .broken(TransportFault.reason(error, stood: false))
        }
    }

    /// Ends all exchanges and closes the connections. Must be called once, before the last reference is released.
    func shutDown() async {
        // Throws only when it was shut down before.
        try? await self.client.shutdown()
    }
}

extension ProviderConnector {
    /// How a request ended: with at least the head of a response, or without one.
    private enum Ending {
        case responded(ProviderResponse)
        case failed(any Error)
    }

    private struct SendingWithheld: Error {}

    private static let headers: HTTPHeaders = [
        "Accept": FormRequest.accept,
        "Accept-Encoding": "identity",
        "Connection": "close",
        "User-Agent": "martlet",
    ]

    private func run(
        _ method: HTTPMethod,
        _ address: String,
        _ headers: HTTPHeaders,
        _ body: HTTPClient.Body?,
        _ limit: Int,
        deadline: NIODeadline
    ) async -> Ending {
        var collector: ResponseCollector?
        do {
            let request = try HTTPClient.Request(url: address, method: method, headers: headers, body: body)
            let delegate = ResponseCollector(isEncrypted: request.useTLS, limit: limit)
            collector = delegate
            let loop = self.client.eventLoopGroup.any()
            let task = self.client.execute(
                request: request,
                delegate: delegate,
                eventLoop: .delegateAndChannel(on: loop)
            )
            let end = loop.scheduleTask(deadline: deadline) {
                // A process that was suspended past the deadline may have received the response already. The event
                // loop reads the connection once more before the request fails.
                _ = loop.scheduleTask(in: Self.lastLook) { task.fail(reason: HTTPClientError.deadlineExceeded) }
            }
            defer { end.cancel() }
            try await task.futureResult.get()
            return delegate.response().map(Ending.responded) ?? .failed(HTTPClientError.remoteConnectionClosed)
        } catch {
            return collector?.response().map(Ending.responded) ?? .failed(error)
        }
    }
}

extension ByteBuffer {
    fileprivate init(copying bytes: Span<UInt8>) {
        self.init()
        self.reserveCapacity(bytes.count)
        for index in bytes.indices { self.writeInteger(bytes[index]) }
    }
}

/// Names the fault of a connection in words that are safe to log. The errors' own texts may contain anything.
enum TransportFault {
    /// - Parameter stood: whether the connection was established before; an error of the socket has another meaning
    ///   then.
    static func reason(_ error: any Error, stood: Bool) -> VerdictReason {
        switch error {
        case let error as HTTPClientError:
            Self.reason(error, stood: stood)
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            .nameUnresolved
        case is SocketAddressError:
            .nameUnresolved
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            .tlsFailed
        case is HTTPParserError:
            .answerNotHTTP
        default:
            stood ? .connectionLost : .connectFailed
        }
    }

    private static func reason(_ error: HTTPClientError, stood: Bool) -> VerdictReason {
        switch error {
        case .tlsHandshakeTimeout: .tlsFailed
        case .deadlineExceeded, .readTimeout, .writeTimeout: .timedOut
        case .alreadyShutdown, .cancelled: .shutDown
        default: stood ? .connectionLost : .connectFailed
        }
    }
}
