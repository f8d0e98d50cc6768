import Foundation
import NIOCore
import Proxy
import SystemSupport
import TestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct UnixSocketTests {
    /// Runs `test` with a path for a socket that nobody else uses, and removes the path's directory afterwards.
    private func withPath(_ test: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        defer { try? FileManager.default.removeItem(at: directory) }
        try await test(directory.appending(path: "m.sock").path)
    }

    private func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func server(_ path: String) async -> ProxyServer {
        await ProxyServer(
            ProxyConfiguration(listeners: [.unix(path: path)], routes: [], eventLoops: 2),
            credentials: ScriptedCredentials()
        )
    }

    private func status(over path: String, _ fields: String = "Host: a") async throws -> Int {
        let caller = try await Peer.connect(toSocket: path)
        defer { caller.close() }
        try await caller.send("GET /nowhere HTTP/1.1\r\n\(fields)\r\n\r\n")
        return try await caller.answer().head.status
    }

    /// Leaves a socket file behind on which no process listens.
    private func abandon(_ path: String) throws {
        let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let address = try SocketAddress(unixDomainSocketPath: path)
        let result = unsafe address.withSockAddr { unsafe bind(socket, $0, socklen_t($1)) }
        #expect(result == 0)
        close(socket)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `other users may connect while keys identify callers, and not before or after`() async throws {
        try await self.withPath { path in
            var setup = Rig.Setup()
            setup.unixSocket = path
            try await withRig(setup) { rig in
                var plan = ProxyConfiguration(listeners: [], routes: [], eventLoops: 1)
                for callers in [nil, [CallerConfiguration(name: "c", keys: [])], nil] {
                    plan.callers = callers
                    _ = await rig.server.reload(plan)
                    let mode = try self.mode(of: path)
                    #expect(mode == (callers == nil ? 0o600 : 0o666))
                }
            }
        }
    }

    @Test(
        arguments: [
            ("Content-Length: 2\r\n\r\nhi", 200), ("Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 505),
            ("Connection: close\r\n\r\nhi", 505),
        ]
    )
    func `HTTP 1,0 is served over a Unix socket, except for responses that would look complete when cut`(
        response: String,
        status: Int
    ) async throws {
        try await self.withPath { path in
            var setup = Rig.Setup()
            setup.unixSocket = path
            try await withRig(setup) { rig in
                let caller = try await Peer.connect(toSocket: path)
                for _ in 1...2 {
                    try await caller.send("GET /acme/ HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
                    let upstream = try await rig.upstream.accept()
                    _ = try await upstream.head()
                    try await upstream.send("HTTP/1.1 200 OK\r\n\(response)")
                    #expect(try await caller.answer().head.status == status)
                    upstream.close()
                }
            }
        }
    }

    @Test func `requests over a Unix socket go upstream from all event loops, and no web page rule applies`()
        async throws
    {
        try await self.withPath { path in
            var setup = Rig.Setup()
            setup.eventLoops = 2
            setup.unixSocket = path
            try await withRig(setup) { rig in
                for round in 1...4 {
                    let caller = try await Peer.connect(toSocket: path)
                    try await caller.send(
                        "POST /acme/\(round) HTTP/1.1\r\nHost: any.example\r\nOrigin: https://evil.example\r\n"
                            + "Sec-Fetch-Site: cross-site\r\nContent-Length: 2\r\n\r\nhi"
                    )
                    let upstream = try await rig.upstream.accept()
                    let (head, body) = try await upstream.request()
                    #expect(head.request == "POST /v2/\(round)")
                    #expect(head["Authorization"] == "Bearer token-1")
                    #expect(body == "hi")
                    try await upstream.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                    #expect(try await caller.answer().body == "ok")
                    caller.close()
                }
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `without callers only this user may connect, and with callers the key decides`() async throws {
        try await self.withPath { path in
            var setup = Rig.Setup()
            setup.unixSocket = path
            try await withRig(setup) { (_: Rig) async throws in
                #expect(try self.mode(of: path) == 0o600)
                #expect(try await self.status(over: path) == 404)
            }
            setup.callers = [CallerConfiguration(name: "a", keys: [try .of("right")])]
            try await withRig(setup) { (_: Rig) async throws in
                #expect(try self.mode(of: path) == 0o666)
                #expect(try await self.status(over: path) == 401)
                #expect(try await self.status(over: path, "Host: a\r\nMartlet-Key: right") == 404)
            }
        }
    }

    @Test func `a socket left by a dead process is replaced`() async throws {
        try await self.withPath { path in
            try self.abandon(path)
            let server = await self.server(path)
            #expect(try await server.bind() == [.unix(path: path)])
            #expect(try await self.status(over: path) == 404)
            _ = await server.shutDown(grace: .zero)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a socket on which another process listens stays, and keeps working`() async throws {
        try await self.withPath { path in
            let first = await self.server(path)
            _ = try await first.bind()
            let second = await self.server(path)
            let error = await #expect(throws: ProxyError.self) { _ = try await second.bind() }
            #expect(error?.code == .addressUnavailable)
            #expect(error?.message == "can't listen on unix:\(path): another process listens there")
            _ = await second.shutDown(grace: .zero)
            #expect(try await self.status(over: path) == 404)
            _ = await first.shutDown(grace: .zero)
        }
    }

    @Test func `a socket whose queue is full counts as in use`() async throws {
        try await self.withPath { path in
            let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
            let address = try SocketAddress(unixDomainSocketPath: path)
            #expect(unsafe address.withSockAddr { unsafe bind(socket, $0, socklen_t($1)) } == 0)
            #expect(listen(socket, 0) == 0)
            var waiting: [CInt] = []
            defer { for socket in waiting + [socket] { close(socket) } }
            var isFull = false
            while !isFull, waiting.count < 10 {
                let caller = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                waiting.append(caller)
                isFull = unsafe address.withSockAddr { unsafe connect(caller, $0, socklen_t($1)) } != 0
            }
            #expect(isFull)
            let server = await self.server(path)
            let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
            #expect(error?.message == "can't listen on unix:\(path): another process listens there")
            _ = await server.shutDown(grace: .zero)
        }
    }

    @Test func `a socket of another kind stays, and is not reported as listened on`() async throws {
        try await self.withPath { path in
            let socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
            defer { close(socket) }
            let address = try SocketAddress(unixDomainSocketPath: path)
            #expect(unsafe address.withSockAddr { unsafe bind(socket, $0, socklen_t($1)) } == 0)
            let server = await self.server(path)
            let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
            #expect(
                error?.message == "can't listen on unix:\(path): a socket of another kind is there; move it away"
            )
            _ = await server.shutDown(grace: .zero)
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a successor replaces a socket, and there is one at all times`() async throws {
        try await self.withPath { path in
            var server = await self.server(path)
            _ = try await server.bind()
            let looks = Tally()
            let looking = Task {
                while !Task.isCancelled {
                    let status = try await self.status(over: path)
                    #expect(status == 404)
                    looks.add()
                }
            }
            for _ in 1...5 {
                let successor = await self.server(path)
                #expect(try await successor.bind(.successor) == [.unix(path: path)])
                #expect(try self.mode(of: path) == 0o600)
                // When the older server ends, it leaves the successor's socket alone.
                #expect(await server.shutDown(grace: patience))
                #expect(FileManager.default.fileExists(atPath: path))
                server = successor
                let before = looks.count
                try await eventually("a look") { looks.count > before }
            }
            looking.cancel()
            try await looking.value
            _ = await server.shutDown(grace: .zero)
            let left = try FileManager.default.contentsOfDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path
            )
            #expect(left.isEmpty)
        }
    }

    @Test func `a successor replaces no file that is not a socket`() async throws {
        try await self.withPath { path in
            try Data("precious".utf8).write(to: URL(filePath: path))
            let server = await self.server(path)
            let error = await #expect(throws: ProxyError.self) { _ = try await server.bind(.successor) }
            #expect(error?.message.contains("not a socket") == true)
            _ = await server.shutDown(grace: .zero)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
        }
    }

    @Test func `a file that is not a socket stays`() async throws {
        try await self.withPath { path in
            try Data("precious".utf8).write(to: URL(filePath: path))
            let server = await self.server(path)
            let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
            #expect(error?.message.contains("not a socket") == true)
            _ = await server.shutDown(grace: .zero)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
        }
    }

    @Test func `a socket that another process has put in place is not removed at the end`() async throws {
        try await self.withPath { path in
            let server = await self.server(path)
            _ = try await server.bind()
            try FileManager.default.removeItem(atPath: path)
            try self.abandon(path)
            _ = await server.shutDown(grace: .zero)
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a socket in a directory where other users can replace it is refused`() async throws {
        try await self.withPath { path in
            let directory = URL(filePath: path).deletingLastPathComponent().path
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
            let server = await self.server(path)
            for claim in [PortClaim.first, .successor] {
                let error = await #expect(throws: ProxyError.self) { _ = try await server.bind(claim) }
                #expect(error?.message.hasPrefix("can't listen on unix:\(path): others can put") == true)
            }
            _ = await server.shutDown(grace: .zero)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test func `a missing directory is reported`() async throws {
        let server = await self.server("/no/such/directory/m.sock")
        let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
        #expect(error?.message.contains("unix:/no/such/directory/m.sock") == true)
        #expect(error?.message.contains("its directory") == true)
        _ = await server.shutDown(grace: .zero)
    }

    @Test func `a socket address is written as it is configured`() {
        #expect(ProxyConfiguration.Address.unix(path: "/run/m.sock").description == "unix:/run/m.sock")
        #expect(ProxyConfiguration.Address.unix(path: "/run/m.sock").port == 0)
    }
}
