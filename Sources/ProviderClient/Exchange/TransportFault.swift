internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import OAuth

/// Names what went wrong with a connection, in words that may be logged: the errors' own texts may hold anything.
enum TransportFault {
    /// - Parameter stood: Whether the connection had stood before: an error of the socket means another thing then.
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
