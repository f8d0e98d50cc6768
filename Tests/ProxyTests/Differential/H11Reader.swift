import TestKit

/// Reads requests with h11, a strict reader in Python that shares nothing with llhttp or the gateway.
enum H11Reader {
    /// Reads streams in hexadecimal, one per line, like a server that responds to each request at once. Prints a line
    /// for each request and an empty line after each stream.
    private static let program = """
        import sys, h11
        for line in sys.stdin:
            server = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
            server.receive_data(bytes.fromhex(line.strip()))
            while True:
                event = server.next_event()
                if event is h11.NEED_DATA:
                    break
                if type(event) is h11.Request:
                    request, body = event, b""
                elif type(event) is h11.Data:
                    body += bytes(event.data)
                elif type(event) is h11.EndOfMessage:
                    values = lambda name: [v for n, v in request.headers if n == name]
                    lengths, codings = values(b"content-length"), values(b"transfer-encoding")
                    framing = (
                        "none" if not lengths and not codings
                        else "length=%d" % int(lengths[0]) if len(lengths) == 1 and not codings
                        else "chunked" if codings == [b"chunked"] and not lengths
                        else "odd"
                    )
                    serial = b", ".join(values(b"x-serial"))
                    print(request.method.decode(), request.target.decode(), serial.decode(), framing, body.hex())
                    server.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
                    server.send(h11.EndOfMessage())
                    server.start_next_cycle()
                else:
                    sys.exit("an end that nobody sent")
            if server.trailing_data[0] or server.their_state is not h11.IDLE:
                sys.exit("half a request is left over")
            print()
        """

    /// The requests of each stream, one line of text for each request.
    ///
    /// - Throws: an error with h11's reason when h11 refuses a stream.
    static func read(_ streams: [[UInt8]]) async throws -> [[String]] {
        let directory = try TemporaryDirectory()
        let input = streams.map { Hexadecimal.text($0[...]) + "\n" }.joined()
        try directory.write(Array(input.utf8), to: "streams")
        // Debian's Python, for which scripts/setup installs the packages. Other Pythons may come first on the path.
        let python = try ChildProcess(
            "/usr/bin/python3",
            ["-c", Self.program],
            in: directory.path,
            input: directory.path(of: "streams"),
            output: directory.path(of: "requests"),
            errors: directory.path(of: "complaint")
        )
        try await eventually("h11 to have read") { python.endedWith != nil }
        guard python.endedWith == 0 else {
            let complaint = directory.bytes(of: "complaint") ?? []
            throw WrongBytes("h11 refuses (scripts/setup installs it): \(String(decoding: complaint, as: UTF8.self))")
        }
        let output = String(decoding: directory.bytes(of: "requests") ?? [], as: UTF8.self)
        return output.split(separator: "\n\n", omittingEmptySubsequences: false).dropLast().map { stream in
            stream.split(separator: "\n").map(String.init)
        }
    }
}
