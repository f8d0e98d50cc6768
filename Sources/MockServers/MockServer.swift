internal import HummingbirdCore
internal import HummingbirdTLS
internal import Listening
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// A provider and an API in one process, for tests and the demo.
package enum MockServer {
    /// Serves until the task is cancelled; then everything open is closed at once, and this returns.
    ///
    /// - Parameter listening: called once, when connections are accepted.
    /// - Throws: ``MockServerError`` when the listener can't be opened.
    package static func run(
        _ options: MockOptions,
        listening: @escaping @Sendable (ListeningAddress) async -> Void
    ) async throws(MockServerError) {
        let connections = MockChannel(service: MockService(options: options))
        if let files = options.tls {
            try await Self.serve(try Self.secure(connections, with: files), options, listening: listening)
        } else {
            try await Self.serve(connections, options, listening: listening)
        }
    }

    /// Runs `body` beside a mock that is up, then stops the mock.
    ///
    ///     try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true))) { address in
    ///         // \(address)/oauth/token answers
    ///     }
    ///
    /// Throws what `body` throws, or ``MockServerError`` when the listener can't be opened.
    package static func withRunning<Outcome>(
        _ options: MockOptions = MockOptions(),
        _ body: (ListeningAddress) async throws -> Outcome
    ) async throws -> Outcome {
        let (addresses, continuation) = AsyncThrowingStream.makeStream(of: ListeningAddress.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do throws(MockServerError) {
                    try await Self.run(options) { address in
                        continuation.yield(address)
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            defer { group.cancelAll() }
            for try await address in addresses {
                return try await body(address)
            }
            throw CancellationError()
        }
    }

    private static func serve<Child: ServerChildChannel>(
        _ child: Child,
        _ options: MockOptions,
        listening: @Sendable (ListeningAddress) async -> Void
    ) async throws(MockServerError) {
        let silence = Logger(label: "martlet-mock") { _ in SwiftLogNoOpLogHandler() }
        let listener: ConnectionListener<Child.Value>
        do {
            listener = try await ConnectionListener.bind(
                host: options.host,
                port: options.port,
                // A queue for everyone who comes at once.
                backlog: 4_096,
                on: MultiThreadedEventLoopGroup.singleton,
                prepare: { child.setup(channel: $0, logger: silence) },
                handle: { await child.handle(value: $0, logger: silence) }
            )
        } catch {
            throw MockServerError(listeningOn: options.host, port: options.port, error)
        }
        await listening(
            ListeningAddress(
                scheme: options.scheme,
                host: listener.channel.localAddress?.ipAddress ?? options.host,
                port: listener.channel.localAddress?.port ?? options.port
            )
        )
        await listener.run()
    }

    private static func secure(
        _ connections: MockChannel,
        with files: MockOptions.TLSFiles
    ) throws(MockServerError) -> TLSChannel<MockChannel> {
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.privateKey, format: .pem))
            )
            configuration.applicationProtocols = ["http/1.1"]
            return try TLSChannel(connections, tlsConfiguration: configuration)
        } catch {
            throw MockServerError(
                .badCertificate,
                "cannot use \(files.certificate) with \(files.privateKey): both must be readable PEM files that belong "
                    + "together"
            )
        }
    }
}
