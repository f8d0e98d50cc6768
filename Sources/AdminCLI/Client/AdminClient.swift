internal import AsyncHTTPClient
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Proxy
internal import SystemSupport
internal import TokenModel

/// An HTTP client for the admin API of a running gateway.
struct AdminClient: Sendable {
    private let access: AdminAccess
    /// The path of a PEM file with trusted roots.
    private let authorities: String?
    /// Whether to print which gateway responded.
    private var reportsGateway: Bool

    /// - Parameters:
    ///   - authorities: a PEM file with the roots that the gateway's certificate is checked against; `nil`: the
    ///     system's.
    ///   - isHeralded: whether to print which gateway responded.
    init(_ access: AdminAccess, authorities: String? = nil, reportsGateway: Bool = false) throws(CommandFailure) {
        self.access = access
        self.authorities = authorities
        self.reportsGateway = reportsGateway
        guard let authorities else { return }
        do throws(ProxyError) {
            try CertificateFiles.check(certificates: authorities)
        } catch {
            throw CommandFailure(.usage, "--admin-ca: \(error.message)")
        }
    }

    /// The same client, but it doesn't print which gateway responded.
    var silent: AdminClient {
        var client = self
        client.reportsGateway = false
        return client
    }

    /// As ``AdminAccess/isOpened(by:)``.
    func isOpened(by token: Secret) -> Bool { self.access.isOpened(by: token) }

    /// Sends a request and returns its response, which has a success status.
    func send(_ request: AdminRequest) async throws(CommandFailure) -> AdminReply {
        let reply = try await self.exchange(request)
        if let failure = self.refusal(in: reply, of: request.attempt) { throw failure }
        return reply
    }

    /// As ``AdminReply/failure(of:tokenFrom:)``, with the origin of the token that this client sends.
    func refusal(in reply: AdminReply, of attempt: String) -> CommandFailure? {
        reply.failure(of: attempt, tokenFrom: self.access.tokenOrigin)
    }

    /// Sends a request and returns its response, whatever its status.
    func exchange(_ request: AdminRequest) async throws(CommandFailure) -> AdminReply {
        var message = try self.message(of: request)
        if !request.body.isEmpty {
            message.headers.add(name: "content-type", value: "application/json")
            message.body = .bytes(ByteBuffer(bytes: request.body))
        }
        let deadline = NIODeadline.now() + TimeAmount(request.patience)
        do {
            let ready = message
            let reply = try await HTTPClient.withHTTPClient(configuration: self.configuration) { client in
                let answer = try await client.execute(ready, deadline: deadline)
                return try await Self.reply(answer)
            }
            self.note(reply)
            return reply
        } catch {
            throw self.failure(error, of: request)
        }
    }

    /// Sends a request with a body that is read while the response is read, each as fast as the other end takes it.
    ///
    /// - Parameter take: is called with each part of the body of a response with a success status.
    /// - Throws: for a response with another status; if the input can't be read; if the connection breaks, or if the
    ///   gateway is silent for the request's patience while it has something to do; what `take` throws.
    func stream(
        _ request: AdminRequest,
        _ input: ImportInput,
        _ take: @escaping @Sendable (ByteBuffer) throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        var message = try self.message(of: request)
        message.headers.add(name: "content-type", value: "application/x-ndjson")
        message.body = .stream(input, length: .unknown)
        defer { input.end() }
        do {
            let ready = message
            let reply = try await withThrowingTaskGroup(of: AdminReply?.self) { tasks in
                tasks.addTask {
                    await input.silence(of: request.patience)
                    return nil
                }
                tasks.addTask {
                    try await HTTPClient.withHTTPClient(configuration: self.configuration) { client in
                        // The silence above is limited instead, since nobody knows how long the input is.
                        let answer = try await client.execute(ready, deadline: .distantFuture)
                        guard (200..<300).contains(answer.status.code) else { return try await Self.reply(answer) }
                        try await self.read(answer, input, take)
                        return Self.reply(answer, [])
                    }
                }
                defer { tasks.cancelAll() }
                guard let reply = try await tasks.next() ?? nil else { throw HTTPClientError.readTimeout }
                return reply
            }
            if let failure = self.refusal(in: reply, of: request.attempt) { throw failure }
            self.note(reply)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw self.failure(error, of: request)
        }
    }

    /// Reads the response to an input.
    private func read(
        _ answer: HTTPClientResponse,
        _ input: ImportInput,
        _ take: @Sendable (ByteBuffer) throws(CommandFailure) -> Void
    ) async throws(CommandFailure) {
        do {
            for try await part in answer.body {
                input.hear()
                try take(part)
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            let reason = error is IOError ? ": \(Self.reason(error))" : ""
            throw CommandFailure(.unavailable, "the connection to the gateway at \(self.access.address) broke\(reason)")
        }
    }

    /// The request without its body.
    private func message(of request: AdminRequest) throws(CommandFailure) -> HTTPClientRequest {
        var message = HTTPClientRequest(url: self.base + request.path)
        message.method = .init(rawValue: request.method.rawValue)
        message.headers.add(name: "accept", value: "application/json")
        if self.access.socket != nil { message.headers.add(name: "host", value: "localhost") }
        if request.needsToken, let authorization = try self.access.authorization() {
            message.headers.add(name: "authorization", value: authorization)
        }
        return message
    }

    private static func reply(_ answer: HTTPClientResponse) async throws -> AdminReply {
        Self.reply(answer, Array(try await answer.body.collect(upTo: Self.longestBody).readableBytesView))
    }

    private static func reply(_ answer: HTTPClientResponse, _ body: [UInt8]) -> AdminReply {
        let gateway = answer.headers.first(name: "martlet-gateway")
        return AdminReply(httpStatus: Int(answer.status.code), body: body, gateway: gateway)
    }

    private func note(_ reply: AdminReply) {
        if self.reportsGateway { RespondingGateway.heard(reply, from: self.access.address) }
    }

    /// Asks whether a gateway is there, and whether it is ready.
    ///
    /// - Parameter help: advice if no gateway is there.
    func readiness(
        otherwise help: String = AdminRequest.isItRunning
    ) async throws(CommandFailure) -> (reply: AdminReply, content: ReadinessReply) {
        var request = AdminRequest.readiness
        request.helpWithoutGateway = help
        let reply = try await self.exchange(request)
        guard reply.httpStatus == 200 || reply.httpStatus == 503 else {
            throw reply.failure(of: request.attempt)
                ?? CommandFailure(.unavailable, "the answer (\(reply.httpStatus)) is not one of a gateway's admin API")
        }
        return (reply, try reply.read())
    }

    /// The failure if there is no token to send. It says first whether a gateway is there.
    ///
    /// - Parameters:
    ///   - fault: why there is no token.
    ///   - help: advice if no gateway is there.
    func failure(withoutToken fault: CommandFailure, otherwise help: String) async -> CommandFailure {
        do throws(CommandFailure) {
            _ = try await self.readiness(otherwise: help)
        } catch {
            return CommandFailure(
                error.status,
                "\(error.message); and nothing could be asked without a token: \(fault.message)"
            )
        }
        return CommandFailure(
            fault.status,
            "\(fault.message); what answers at \(self.access.address) may be a gateway with another state_dir or token_file"
        )
    }

    private func failure(_ error: any Error, of request: AdminRequest) -> CommandFailure {
        let place = self.access.address
        // Added only if there was a connection: without one, nothing was sent.
        let doubt = request.doubt.map { "; \($0)" } ?? ""
        let help = request.helpWithoutGateway
        if place.hasPrefix("https://"), let fault = HandshakeFault("\(error)") {
            return CommandFailure(.unavailable, "can't reach the gateway at \(place): \(fault.text)")
        }
        switch error {
        case let error as UntrustedSocketPeer:
            return CommandFailure(.notAllowed, "\(place) \(error.message): nothing was sent")
        case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
            return CommandFailure(
                .unavailable,
                "the gateway at \(place) has not answered within \(request.patience.components.seconds) s\(doubt)"
            )
        case let error as HTTPClientError where error == .connectTimeout:
            return CommandFailure(.unavailable, "can't reach the gateway at \(place): no connection in time; \(help)")
        case let error as NIOConnectionError:
            let cause = error.connectionErrors.first.map { Self.reason($0.error) } ?? "its name has no address"
            return CommandFailure(.unavailable, "can't reach the gateway at \(place): \(cause); \(help)")
        case let error as IOError where self.access.socket != nil && [ECONNREFUSED, ENOENT].contains(error.errnoCode):
            return CommandFailure(.unavailable, "can't reach the gateway at \(place): nobody listens there; \(help)")
        case let error as IOError where error.errnoCode == ECONNREFUSED || error.errnoCode == ENETUNREACH:
            return CommandFailure(.unavailable, "can't reach the gateway at \(place): \(Self.reason(error)); \(help)")
        default:
            return CommandFailure(
                .unavailable,
                "can't reach the gateway at \(place): \(Self.reason(error)); is it running? --admin names another address\(doubt)"
            )
        }
    }

    private static func reason(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "the connection broke or its answer is not HTTP" }
        return SystemText.reason(error.errnoCode)
    }

    /// The URL that a request's path is appended to.
    private var base: String {
        guard let socket = self.access.socket else { return self.access.address }
        return "http+unix://" + AdminRequest.encoded(socket.path)
    }

    private var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: .seconds(5)),
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        // The command must report at once that nothing listens there.
        configuration.connectionPool.retryConnectionEstablishment = false
        if let authorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(authorities)
            configuration.tlsConfiguration = tls
        }
        if let owners = self.access.socket?.owners {
            // Checks the peer on the connection itself before a byte is sent. A check of the path could look at another
            // process.
            configuration.http1_1ConnectionDebugInitializer = { UntrustedSocketPeer.refuse(on: $0, unlessOf: owners) }
        }
        return configuration
    }

    private static let longestBody = 64 << 20
}

/// The process that listens on the gateway's socket belongs to a user who is not trusted.
struct UntrustedSocketPeer: Error {
    /// `nil` if the kernel doesn't report the user.
    let user: UInt32?

    /// What is wrong; it follows the socket's path.
    var message: String {
        let who = self.user.map { "user \($0)" } ?? "a user that the kernel does not name"
        return "is listened on by a process of \(who), which is neither this user nor root"
    }

    /// Closes a connection unless the listening process belongs to one of `owners`.
    static func refuse(on connection: any Channel, unlessOf owners: Set<UInt32>) -> EventLoopFuture<Void> {
        connection.peerIdentity().flatMapThrowing { peer in
            if let peer, owners.contains(peer.user) { return }
            connection.close(promise: nil)
            throw UntrustedSocketPeer(user: peer?.user)
        }
    }
}

/// Why the TLS handshake with an `https://` address failed.
package enum HandshakeFault: Sendable {
    /// The server there speaks without TLS.
    case notTLS
    /// The certificate is not trusted by this host, or it is for another name.
    case untrusted

    /// Recognizes an error from TLS by its text, because the error has no other detail; `nil` for other errors.
    ///
    /// - Parameter error: the error's text.
    package init?(_ error: String) {
        switch error {
        case let text where text.contains("WRONG_VERSION_NUMBER"): self = .notTLS
        case let text where text.contains("CERTIFICATE_VERIFY_FAILED"): self = .untrusted
        default: return nil
        }
    }

    /// What is wrong, and what helps.
    package var text: String {
        switch self {
        case .notTLS:
            "what listens there speaks plain HTTP, without TLS: name it with http://, on loopback or through a tunnel, "
                + "since the admin token goes there in the clear"
        case .untrusted: "its certificate is not one that this host trusts for that name"
        }
    }
}
