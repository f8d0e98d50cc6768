import NIOCore

/// The head of a message, read line by line by a reader that shares nothing with the gateway's.
struct Message: Sendable {
    let startLine: String
    let fields: [(name: String, value: String)]

    /// Values of all fields of a name, in order.
    func all(_ name: String) -> [String] {
        self.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of the only field of that name; `nil` where there is none or more than one.
    subscript(name: String) -> String? {
        let all = self.all(name)
        return all.count == 1 ? all.first : nil
    }

    /// The status of a response; 0 for anything else.
    var status: Int { Int(self.startLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// The method and the target of a request.
    var request: String { self.startLine.split(separator: " ").prefix(2).joined(separator: " ") }
}

extension Peer {
    func head() async throws -> Message {
        let startLine = try await self.line()
        var fields: [(name: String, value: String)] = []
        while true {
            let line = try await self.line()
            if line.isEmpty { return Message(startLine: startLine, fields: fields) }
            guard let colon = line.firstIndex(of: ":"), !line.hasPrefix(" ") else {
                throw WrongBytes("no field: \(line)")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields.append((String(line[..<colon]), String(value)))
        }
    }

    /// The body of a message, framed exactly as its head says.
    ///
    /// - Parameter endsWithClose: whether a body without framing extends to a clean end of the connection, as that of a
    ///   response does; otherwise a message without framing has no body.
    func body(of head: Message, endsWithClose: Bool = false) async throws -> ByteBuffer {
        let lengths = head.all("Content-Length")
        let codings = head.all("Transfer-Encoding")
        guard lengths.count + codings.count <= 1 else { throw WrongBytes("framed twice: \(head.fields)") }
        if let length = lengths.first {
            guard let count = Int(length) else { throw WrongBytes("no length: \(length)") }
            return try await self.bytes(count)
        }
        if let coding = codings.first {
            guard coding == "chunked" else { throw WrongBytes("no coding of ours: \(coding)") }
            return try await self.chunks()
        }
        guard endsWithClose else { return ByteBuffer() }
        let (bytes, ending) = try await self.rest()
        guard ending == .clean else { throw WrongBytes("a reset in a body") }
        return bytes
    }

    /// A chunked body without trailers.
    private func chunks() async throws -> ByteBuffer {
        var body = ByteBuffer()
        while true {
            let size = try await self.line()
            guard let count = Int(size, radix: 16) else { throw WrongBytes("no chunk size: \(size)") }
            body.writeImmutableBuffer(try await self.bytes(count))
            let end = try await self.line()
            guard end.isEmpty else { throw WrongBytes("behind a chunk: \(end)") }
            if count == 0 { return body }
        }
    }

    /// A complete response to a request other than HEAD.
    func answer() async throws -> (head: Message, body: String) {
        let head = try await self.head()
        return (head, String(buffer: try await self.body(of: head, endsWithClose: true)))
    }

    /// A complete request.
    func request() async throws -> (head: Message, body: String) {
        let head = try await self.head()
        return (head, String(buffer: try await self.body(of: head)))
    }
}
