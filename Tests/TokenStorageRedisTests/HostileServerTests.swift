import Dispatch
import Glibc
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageRedis

/// Servers that speak something else, or too much.
struct HostileServerTests {
    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak RESP3"), ("$?\r\n", "a streamed value"),
        ("*1\r\n$99999999\r\n", "larger than any"), (String(repeating: "*1\r\n", count: 20), "deep"),
        ("%0\r\n+more\r\n", "a reply to nothing"), ("-NOPROTO no\r\n", "Redis 7.0 or later is needed"),
        ("-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'm' 's3cr3t'\r\n", "HELLO 3"),
        ("%0\r\n", "the connection was closed"),
    ])
    func `what a server sends is no reason to trust it, and its connection is closed`(
        sent: String,
        message: String
    ) async throws {
        // Given a server that sends this, whatever it is asked
        let server = try SpeakingServer(Array(sent.utf8), thenCloses: message.contains("closed"))

        // When a store is opened there
        do throws(StoreError) {
            _ = try await RedisTokenStore.open(
                RedisServer(
                    hosts: [RedisServer.Host(name: "127.0.0.1", port: server.port)],
                    user: "m",
                    password: Secret("s3cr3t"),
                    encryption: .none
                )
            )
            Issue.record("it was opened")
        } catch {
            // Then the error says what was wrong, and repeats nothing
            #expect(error.message.contains(message), "\(error)")
            #expect(!error.message.contains("s3cr3t"))
        }
        // and the connection is closed
        #expect(await server.sawEnd())
    }
}

/// A server of one connection that sends its bytes as soon as it is spoken to.
private final class SpeakingServer: Sendable {
    let port: Int
    private let listener: CInt
    private let queue = DispatchQueue(label: "martlet.tests.server")
    private let result = AsyncStream.makeStream(of: Bool.self)

    init(_ bytes: [UInt8], thenCloses: Bool) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listens = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        try #require(listens)
        self.port = Int(UInt16(bigEndian: address.sin_port))
        let end = self.result.continuation
        self.queue.async { end.yield(Self.serve(listener, bytes, thenCloses)) }
    }

    deinit { close(self.listener) }

    /// Whether the client has closed the connection.
    func sawEnd() async -> Bool {
        for await isEnd in self.result.stream { return isEnd }
        return false
    }

    private static func serve(_ listener: CInt, _ bytes: [UInt8], _ closes: Bool) -> Bool {
        guard Self.isReadable(listener) else { return false }
        let connection = accept(listener, nil, nil)
        defer { close(connection) }
        var received = [UInt8](repeating: 0, count: 4_096)
        guard Self.isReadable(connection), unsafe read(connection, &received, received.count) > 0 else { return false }
        _ = unsafe write(connection, bytes, bytes.count)
        // Not a close: that would be a reset if the client had said more by now.
        if closes { shutdown(connection, Int32(SHUT_WR)) }
        while Self.isReadable(connection) {
            if unsafe read(connection, &received, received.count) <= 0 { return true }
        }
        return false
    }

    /// Waits, within bounds.
    private static func isReadable(_ descriptor: CInt) -> Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 60_000) > 0
    }
}
