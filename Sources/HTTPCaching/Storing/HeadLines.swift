import HTTPWire
import NIOCore

/// Writes a response head line by line, in memory of its own, and reads it as any other head.
struct HeadLines {
    /// A stored head has at most the limits of an upstream's; the gateway adds few lines to it.
    static let limits = HeadLimits(head: 128 << 10, field: 64 << 10, fields: 208, target: 0)

    private var bytes: ByteBuffer

    /// - Parameters:
    ///   - status: code and reason, with the CRLF.
    ///   - capacity: the expected length, in bytes.
    init(status: some Sequence<UInt8>, capacity: Int) {
        self.bytes = ByteBuffer()
        self.bytes.reserveCapacity(capacity)
        self.bytes.writeString("HTTP/1.1 ")
        self.bytes.writeBytes(status)
    }

    /// Adds a field.
    mutating func add(_ name: StaticString, _ value: some Sequence<UInt8>) {
        self.bytes.writeStaticString(name)
        self.bytes.writeString(": ")
        self.bytes.writeBytes(value)
        self.bytes.writeLineEnd()
    }

    /// Adds the line of a field of `head`.
    mutating func add(_ field: Field, of head: ResponseHead) {
        let line = head.bytes.viewBytes(at: head.bytes.readerIndex + field.line.lower, length: field.line.count)
        if let line { self.bytes.writeBytes(line) }
    }

    /// The head that a caller gets who sends a request with `method`; `nil` if it is longer than any head may be.
    consuming func head(answering method: HTTPMethod = .get, limits: HeadLimits = Self.limits) -> ResponseHead? {
        self.bytes.writeLineEnd()
        var parser = ResponseHeadParser(limits: limits)
        return try? parser.next(&self.bytes, answering: method)
    }
}

extension ResponseHead {
    /// Code and reason, with the CRLF.
    var statusBytes: [UInt8] { self.bytes.readableBytesUInt8Span.copy(self.statusLine) }
}
