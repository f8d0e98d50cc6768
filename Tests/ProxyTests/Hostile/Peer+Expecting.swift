import NIOCore

extension Peer {
    /// Takes as many bytes as `expected` has. If other bytes come, takes what has come so far.
    func bytes(expecting expected: String) async throws -> String {
        let bytes = ByteBuffer(latin1: expected).readableBytesView
        return try await self.take("exactly \(expected.prefix(500).debugDescription)") { view in
            view.count < bytes.count && bytes.starts(with: view) ? nil : min(view.count, bytes.count)
        }.latin1
    }

    /// The same as ``line()``, with one scalar for each byte.
    private func latin1Line() async throws -> String {
        let line = try await self.take("a line") { view in
            view.firstIndex(of: 0x0A).map { $0 - view.startIndex + 1 }
        }.latin1
        guard line.hasSuffix("\r\n") else { throw WrongBytes("a line without CRLF: \(line)") }
        return String(line.dropLast())
    }

    /// A chunked body as the gateway writes it: no extensions, and sizes in lower case without leading zeros.
    func canonicalChunks() async throws -> (content: String, trailers: [String]) {
        var content = ""
        while true {
            let size = try await self.line()
            guard let count = Int(size, radix: 16), size == String(count, radix: 16) else {
                throw WrongBytes("no canonical chunk size: \(size)")
            }
            guard count > 0 else { break }
            content += try await self.bytes(count).latin1
            let end = try await self.line()
            guard end.isEmpty else { throw WrongBytes("behind a chunk: \(end)") }
        }
        var trailers: [String] = []
        while true {
            let line = try await self.latin1Line()
            guard !line.isEmpty else { return (content, trailers) }
            trailers.append(line)
        }
    }

    /// Takes a request off the wire and expects it to be `request`, byte for byte. How a chunked body is divided into
    /// chunks does not matter.
    ///
    /// - Parameter port: the port that the upstream listens on.
    func expect(_ request: PassedRequest, port: Int) async throws {
        let head = request.head(port: port)
        let arrived = try await self.bytes(expecting: head)
        guard arrived == head else {
            throw WrongBytes("\(arrived.debugDescription) in place of \(head.debugDescription)")
        }
        var body: (content: String, trailers: [String]) = ("", [])
        if request.isChunked {
            body = try await self.canonicalChunks()
        } else {
            body.content = try await self.bytes(expecting: request.body)
        }
        guard body.content == request.body, body.trailers == request.trailers else {
            throw WrongBytes("the body \(body.content.debugDescription), the trailers \(body.trailers)")
        }
    }
}

extension Message {
    /// Reads `bytes` as exactly one message, with a body framed by its length.
    static func whole(_ bytes: ByteBuffer) throws -> (head: Message, body: String) {
        let text = String(buffer: bytes)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw WrongBytes("no whole head: \(text)") }
        let lines = parts[0].split(separator: "\r\n", omittingEmptySubsequences: false)
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return (name: parts[0], value: parts.count == 2 ? parts[1] : "")
        }
        let head = Message(startLine: String(lines[0]), fields: fields)
        guard head["Content-Length"] == "\(parts[1].utf8.count)" else { throw WrongBytes("another length: \(text)") }
        return (head, String(parts[1]))
    }
}
