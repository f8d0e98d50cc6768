internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import ServiceLifecycle

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
        let server = try Self.server(options, listening: listening)
        do {
            try await server.run()
        } catch is CancellationError {
            return
        } catch {
            throw MockServerError(listeningOn: options.host, port: options.port, error)
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

    private static func server(
        _ options: MockOptions,
        listening: @escaping @Sendable (ListeningAddress) async -> Void
    ) throws(MockServerError) -> any Service {
        let connections = MockChannel(service: MockService(options: options))
        let child: any ServerChildChannel
        if let files = options.tls {
            child = try Self.secure(connections, with: files)
        } else {
            child = connections
        }
        return child.server(
            // A queue for everyone who comes at once.
            configuration: ServerConfiguration(address: .hostname(options.host, port: options.port), backlog: 4_096),
            onServerRunning: { channel in
                await listening(
                    ListeningAddress(
                        scheme: options.scheme,
                        host: channel.localAddress?.ipAddress ?? options.host,
                        port: channel.localAddress?.port ?? options.port
                    )
                )
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "martlet-mock") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private static func secure(
        _ connections: MockChannel,
        with files: MockOptions.TLSFiles
    ) throws(MockServerError) -> any ServerChildChannel {
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
