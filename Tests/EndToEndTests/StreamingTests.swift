import TestKit
import Testing

/// Requests and responses arrive unchanged and without delay.
@Suite struct StreamingTests {
    private static let tenMebibytes = Payload(size: 10 << 20)

    @Test(arguments: [["--data-binary"], ["-H", "Transfer-Encoding: chunked", "--data-binary"]])
    func `ten mebibytes go up unchanged, with a content length and in chunks`(options: [String]) async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let body = Self.tenMebibytes
        try directory.write(body.bytes, to: "body")

        let arguments = ["-X", "POST", "-H", "Expect:"] + options + ["@\(directory.path(of: "body"))"]
        let echo = try Echo(try await gateway.curl("echo", arguments))

        #expect(echo.method == "POST")
        #expect(echo.body_size == 10 << 20)
        #expect(echo.body_sha256 == body.sha256)
    }

    @Test func `ten mebibytes come down unchanged`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        let size = try await gateway.curl(
            "bytes/\(10 << 20)",
            ["-o", "/dev/null", "-w", "%{size_download} %{http_code}"]
        )

        #expect(size == "\(10 << 20) 200")
    }

    @Test func `a server-sent event arrives when it is sent, not when the stream ends`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        // The second event is due long after this test stops waiting for the first.
        let stream = try Program(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sSN", "\(gateway.callers)/acme/stream/2?every=5m"],
            in: directory
        )
        try await eventually("the first event") { stream.written.contains("data:") }

        #expect(stream.isRunning)
        #expect(stream.written.split(separator: "\n").count { $0.hasPrefix("data:") } == 1)
    }

    @Test func `a stream of events arrives as the upstream sends it`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        let stream = try await gateway.curl("stream/20?every=10ms")

        #expect(stream.split(separator: "\n").count { $0.hasPrefix("data:") } == 20)
    }
}
