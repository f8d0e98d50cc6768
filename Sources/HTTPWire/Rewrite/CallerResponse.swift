package import NIOCore

/// Writes the head of an upstream's response for a caller: fields of the connection are dropped, the rest passes byte
/// for byte.
package enum CallerResponse {
    /// The head for the caller, complete with its empty line. A response that switches to WebSocket gets its own
    /// `Connection` and `Upgrade` lines.
    ///
    /// - Parameters:
    ///   - framing: how the body will be sent to this caller.
    ///   - close: adds `Connection: close`.
    ///   - keepAlive: adds `Connection: keep-alive`, for a caller that speaks HTTP/1.0.
    ///   - extra: whole lines to add, each with its CRLF.
    ///   - cacheLines: whole lines that a response cache adds, each with its CRLF. Those of a stored response begin with
    ///     its `Age`.
    ///   - date: the `Date` line with its CRLF, for a response without one (RFC 9110 §6.6.1).
    ///   - targets: maps targets in the upstream to the gateway; `nil` leaves them as they are.
    ///   - passesCookies: lets `Set-Cookie` through.
    ///   - buffer: memory to reuse if nobody else holds it; its contents are lost.
    package static func head(
        of answer: ResponseHead,
        framing: BodyFraming,
        close: Bool,
        keepAlive: Bool = false,
        extra: StaticString = "",
        cacheLines: [UInt8] = [],
        date: ByteBuffer? = nil,
        targets: ResponseTargets? = nil,
        passesCookies: Bool = false,
        reusing buffer: consuming ByteBuffer = ByteBuffer()
    ) -> ByteBuffer {
        let source = answer.bytes.readableBytesUInt8Span
        let estimate = source.count + 120 + extra.utf8CodeUnitCount + cacheLines.count
        var head = buffer
        head.clear(minimumCapacity: estimate)
        head.writeHead(estimate: estimate) { head in
            head.write("HTTP/1.1 ")
            if answer.statusLine.count == 5 {
                // A status line without a reason still has the space before it.
                head.write(ByteRange(answer.statusLine.lower, answer.statusLine.lower + 3), of: source)
                head.write(" \r\n")
            } else {
                head.write(answer.statusLine, of: source)
            }
            if let targets, answer.fields.contains(where: { $0.known.isTarget && !$0.isStripped }) {
                head.writeMapped(answer.fields, of: source, by: targets) { $0.passesToCaller(passesCookies) }
            } else {
                head.writePassing(answer.fields, of: source) { $0.passesToCaller(passesCookies) }
            }
            head.writeFraming(framing)
            if framing == .none, let length = answer.describedLength {
                head.writeFraming(.length(length))
            }
            if close { head.write("Connection: close\r\n") }
            if keepAlive { head.write("Connection: keep-alive\r\n") }
            // What to ask for instead (RFC 9110 §15.5.22).
            if answer.status == 426, let upgrade = answer.fields.first(where: { $0.known == .upgrade }) {
                head.write(upgrade.line, of: source)
                head.write("Connection: Upgrade\r\n")
            }
            if answer.switchesToWebSocket { head.write("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
            if let date {
                let line = date.readableBytesUInt8Span
                head.write(ByteRange(0, line.count), of: line)
            }
            head.write(extra)
            head.write(cacheLines)
            head.writeLineEnd()
        }
        return head
    }

    /// The last chunk of a chunked body, with the trailers that may pass: none that frames, routes or authenticates.
    package static func lastChunk(_ trailers: Trailers?) -> ByteBuffer {
        .lastChunk(trailers) { _, _ in true }
    }
}

extension ByteBuffer {
    /// The last chunk with the trailers that any message may have and `passes` lets through.
    static func lastChunk(
        _ trailers: Trailers?,
        where passes: (Field, Span<UInt8>) -> Bool
    ) -> ByteBuffer {
        let estimate = 5 + (trailers?.bytes.readableBytes ?? 0)
        var end = ByteBuffer()
        end.reserveCapacity(estimate)
        end.writeHead(estimate: estimate) { end in
            end.write("0\r\n")
            if let trailers {
                let source = trailers.bytes.readableBytesUInt8Span
                end.writePassing(trailers.fields, of: source) { $0.known.passesAsTrailer && passes($0, source) }
            }
            end.writeLineEnd()
        }
        return end
    }
}

extension HeadWriter {
    /// Copies the lines of the fields that `passes` lets through. Targets in them are mapped.
    fileprivate mutating func writeMapped(
        _ fields: [Field],
        of source: Span<UInt8>,
        by targets: ResponseTargets,
        where passes: (Field) -> Bool
    ) {
        for field in fields where passes(field) {
            if field.known.isTarget, let value = targets.mapped(field, in: source) {
                self.write(field.name, of: source)
                self.write(": ")
                self.write(value)
                self.writeLineEnd()
            } else {
                self.write(field.line, of: source)
            }
        }
    }

    /// Copies the lines of the fields that `passes` lets through as they are, neighbouring lines in one run.
    mutating func writePassing(_ fields: [Field], of source: Span<UInt8>, where passes: (Field) -> Bool) {
        var runStart = 0
        var runEnd = 0
        for field in fields where passes(field) {
            if field.line.lower != runEnd {
                if runEnd > runStart { self.write(ByteRange(runStart, runEnd), of: source) }
                runStart = field.line.lower
            }
            runEnd = field.line.upper
        }
        if runEnd > runStart { self.write(ByteRange(runStart, runEnd), of: source) }
    }
}

extension Field {
    fileprivate func passesToCaller(_ withCookies: Bool) -> Bool {
        !self.isStripped && self.known.passesToCaller(withCookies: withCookies)
    }
}

/// Writes a head, piece by piece, into memory that was reserved for it. Whether another owner shares that memory is
/// checked once, and not for each piece as a `ByteBuffer` does.
@safe struct HeadWriter: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private let room: Int
    /// Length in bytes, including bytes that did not fit.
    fileprivate private(set) var count = 0

    fileprivate init(into memory: UnsafeMutableRawBufferPointer) {
        unsafe self.memory = memory
        self.room = memory.count
    }

    mutating func write(_ text: StaticString) {
        unsafe self.write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func write(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe self.write($0) }
    }

    mutating func write(_ range: ByteRange, of source: Span<UInt8>) {
        guard !range.isEmpty else { return }
        unsafe source.extracting(range.lower..<range.upper).withUnsafeBytes { unsafe self.write($0) }
    }

    /// In decimal digits.
    mutating func write(_ number: Int) {
        if number >= 10 { self.write(number / 10) }
        let digit = 0x30 + UInt8(truncatingIfNeeded: number % 10)
        if self.count < self.room { unsafe self.memory[self.count] = digit }
        self.count += 1
    }

    /// CRLF.
    mutating func writeLineEnd() { self.write("\r\n") }

    private mutating func write(_ bytes: UnsafeRawBufferPointer) {
        let end = self.count + bytes.count
        if end <= self.room {
            unsafe UnsafeMutableRawBufferPointer(rebasing: self.memory[self.count..<end]).copyMemory(from: bytes)
        }
        self.count = end
    }
}

extension ByteBuffer {
    /// Appends what `body` writes.
    ///
    /// - Parameters:
    ///   - estimate: the expected length, in bytes.
    ///   - body: writes the same each time. If the estimate is too small, it is called again with enough room.
    mutating func writeHead(estimate: Int, _ body: (inout HeadWriter) -> Void) {
        var room = estimate
        var isWritten = false
        while !isWritten {
            unsafe self.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { memory in
                var writer = unsafe HeadWriter(into: memory)
                body(&writer)
                room = writer.count
                isWritten = writer.count <= memory.count
                return isWritten ? writer.count : 0
            }
        }
    }
}
