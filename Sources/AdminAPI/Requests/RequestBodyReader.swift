internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

/// Reads the body of one request as it arrives, and ends a connection whose body is too large or takes too long.
struct RequestBodyReader {
    private var parts: RequestBody.AsyncIterator
    private let connection: any Channel
    private var isComplete = false

    init(_ request: Request, on connection: any Channel) {
        self.parts = request.body.makeAsyncIterator()
        self.connection = connection
    }

    /// Reads the whole body.
    ///
    /// - Parameter time: the connection is closed if the body has not arrived by then.
    /// - Throws: ``AdminError/Code/invalidField`` for more than `limit` bytes; errors of the connection.
    @concurrent
    mutating func read(limit: Int, within time: Duration) async throws -> [UInt8] {
        let deadline = self.closeConnection(after: time)
        defer { deadline.cancel() }
        var bytes: [UInt8] = []
        while let part = try await self.next() {
            guard bytes.count + part.readableBytes <= limit else {
                throw AdminError.invalidField("body", "the body has more than \(limit) bytes")
            }
            bytes.append(contentsOf: part.readableBytesView)
        }
        return bytes
    }

    /// Discards the rest of the body, so that a client that is still sending can read its response. After 2 s the
    /// connection is closed.
    ///
    /// - Throws: ``AbandonedBody`` if more than 1 MiB arrives; the caller must close the connection then.
    @concurrent
    mutating func discardRest() async throws {
        guard !self.isComplete else { return }
        let deadline = self.closeConnection(after: .seconds(2))
        defer { deadline.cancel() }
        var discarded = 0
        while let part = try await self.next() {
            discarded += part.readableBytes
            guard discarded <= 1 << 20 else { throw AbandonedBody() }
        }
    }

    @concurrent
    private mutating func next() async throws -> ByteBuffer? {
        guard !self.isComplete else { return nil }
        let part = try await self.parts.next()
        self.isComplete = part == nil
        return part
    }

    private func closeConnection(after time: Duration) -> Scheduled<Void> {
        let connection = self.connection
        return connection.eventLoop.scheduleTask(in: TimeAmount(time)) { connection.close(promise: nil) }
    }
}

/// The body was not read to its end.
struct AbandonedBody: Error {}
