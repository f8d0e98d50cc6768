internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import SystemSupport

/// A provider and an API in one process, for tests and the demo.
package enum MockServer {
    /// Serves until the task is cancelled. Then it closes all connections at once and returns.
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

    /// Runs `body` while a mock is running, then stops the mock.
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
                // Large enough for many clients that connect at once.
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
            // So long that a stop that waited for the close alert of the other side would be noticed.
            configuration.shutdownTimeout = .minutes(5)
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

/// The address of a running mock.
package struct ListeningAddress: Equatable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    package let scheme: String

    /// An IP address, without brackets.
    package let host: String
    package let port: Int

    package init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The base URL without a slash at its end: `http://127.0.0.1:9090`, `https://[::1]:9443`.
    package var description: String {
        "\(self.scheme)://\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)"
    }
}

/// Why the mock does not run. Two errors are equal if their codes are equal.
package struct MockServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of error, from which the program derives its exit code.
    package enum Code: Sendable {
        /// Another process listens on the address.
        case addressInUse

        /// This machine does not have the address, or the name is unknown.
        case addressUnavailable

        /// The operating system denies permission, for example for ports below 1024.
        case notAllowed

        /// The certificate or its key can't be read, or they do not belong together.
        case badCertificate

        /// The operating system refused for another reason.
        case listenerFailed
    }

    package let code: Code

    /// What failed, on which address or file, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { self.message }

    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension MockServerError {
    /// Converts the error that the operating system reported when the listener was opened.
    init(listeningOn host: String, port: Int, _ error: any Error) {
        let fault = ListenFault(error)
        let message = "cannot listen on \(host):\(port): \(fault.reason)"
        switch fault {
        case .inUse: self.init(.addressInUse, "\(message); use --port with another one, or 0")
        case .notAllowed: self.init(.notAllowed, message)
        case .unavailable: self.init(.addressUnavailable, message)
        case .system, .other: self.init(.listenerFailed, message)
        }
    }
}

/// Where the mock listens and how it behaves.
package struct MockOptions: Sendable {
    /// Two PEM files.
    package struct TLSFiles: Sendable, Equatable {
        /// The certificate, followed by its chain.
        package let certificate: String
        package let privateKey: String

        package init(certificate: String, privateKey: String) {
            self.certificate = certificate
            self.privateKey = privateKey
        }
    }

    /// A name or an address of this machine.
    package var host: String

    /// 0 lets the system choose.
    package var port: Int

    /// Nil for plain HTTP.
    package var tls: TLSFiles?

    /// Lifetime and rotation of the tokens.
    package var rules: TokenRules

    /// Access tokens are random strings instead of signed JWTs.
    package var opaqueTokens: Bool

    package init(
        host: String = "127.0.0.1",
        port: Int = 0,
        tls: TLSFiles? = nil,
        rules: TokenRules = TokenRules(),
        opaqueTokens: Bool = false
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.rules = rules
        self.opaqueTokens = opaqueTokens
    }

    /// `http`, or `https` with a certificate.
    package var scheme: String { self.tls == nil ? "http" : "https" }
}
