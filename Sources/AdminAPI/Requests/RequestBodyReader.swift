internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

/// Reads the body of one request as it arrives, and ends a connection whose body is too large or takes too long.
struct RequestBodyReader {
    private let stream: RequestBodyStream
    /// `nil` until the first part is asked for.
    private var parts: RequestBody.AsyncIterator?
    private var isComplete = false

    init(_ request: Request, on connection: any Channel) {
        self.stream = RequestBodyStream(body: request.body, connection: connection)
    }

    /// The body for somebody who reads it to its end. Nothing of it may have been read.
    mutating func takeStream() -> RequestBodyStream {
        assert(self.parts == nil, "a body is read once")
        self.isComplete = true
        return self.stream
    }

    /// Reads the whole body.
    ///
    /// - Parameter time: the connection is closed if the body has not arrived by then.
    /// - Throws: ``AdminError/Code/invalidField`` for more than `limit` bytes; errors of the connection.
    @concurrent
    mutating func read(limit: Int, within time: Duration) async throws -> [UInt8] {
        let deadline = self.stream.closeConnection(after: time)
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
        let deadline = self.stream.closeConnection(after: .seconds(2))
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
        var parts = self.parts ?? self.stream.body.makeAsyncIterator()
        let part = try await parts.next()
        self.parts = parts
        self.isComplete = part == nil
        return part
    }
}

/// The body of one request for a task of its own, which reads it part by part while the response is being written.
struct RequestBodyStream: Sendable {
    fileprivate let body: RequestBody
    let connection: any Channel

    /// Reads to the end of the body. Must be called once.
    ///
    /// - Parameters:
    ///   - patience: the connection is closed if nothing arrives for this long. The time that `take` takes does not count.
    ///   - take: gets each part before the next one is read.
    /// - Throws: ``AbandonedBody`` if the body does not arrive to its end.
    @concurrent
    func read(patience: Duration, _ take: (ByteBuffer) async -> Void) async throws {
        var parts = self.body.makeAsyncIterator()
        while true {
            let deadline = self.closeConnection(after: patience)
            defer { deadline.cancel() }
            // A parser's error would get a response of its own, in the middle of the one that is being written.
            guard let part = try? await parts.next() as ByteBuffer?? else { throw AbandonedBody() }
            deadline.cancel()
            guard let part else { return }
            await take(part)
        }
    }

    fileprivate func closeConnection(after time: Duration) -> Scheduled<Void> {
        let connection = self.connection
        return connection.eventLoop.scheduleTask(in: TimeAmount(time)) { connection.close(promise: nil) }
    }
}

/// The body was not read to its end.
struct AbandonedBody: Error {}
