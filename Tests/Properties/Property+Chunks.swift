import HTTPWire
import NIOCore

extension Property {
    /// A chunked body has the same content however it arrives, and the same content and end as for any other reader.
    /// The decoder reads the encoder's output as the original content.
    package static let chunks = Property("Chunks") { input in
        let readings = try arrivals(of: input).map { try BodyReading($0) }
        for reading in readings {
            try require(reading == readings[0], "another reading when cut otherwise: \(reading), \(readings[0])")
        }
        let reading = readings[0]
        let plain = PlainChunks(input)
        switch reading.end {
        case .clean:
            guard let plain else { throw Violation("a body without an end was taken") }
            try require(reading.content == plain.content, "another content than any other reader takes")
            try require(reading.rest == Array(plain.rest), "another end than for any other reader")
            try require(plain.extensionBytes <= 1 << 10, "chunk extensions above the limit")
            try require(plain.hasPlainExtensions, "a malformed chunk extension was taken")
            for trailer in reading.trailers {
                try trailer.checkSyntax()
            }
            try Self.checkEncoding(of: reading.content, trailers: reading.rawTrailers)
        case .unfinished:
            try require(plain == nil, "a whole body is waited for")
        case .refused(.chunkExtension):
            try require(plain?.hasPlainExtensions != true, "a well-formed chunk extension was refused")
        case .refused: break
        }
        // Any bytes can be content.
        try Self.checkEncoding(of: input, trailers: nil)
    }

    private static func checkEncoding(of content: [UInt8], trailers: Trailers?) throws {
        for size in [max(1, content.count), 1 + content.count / 3, 7] {
            var encoder = BodyEncoder(.chunked)
            var wire: [UInt8] = []
            for start in stride(from: 0, to: content.count, by: size) {
                let piece = content[start..<min(content.count, start + size)]
                guard case .chunk(let before) = encoder.frame(piece.count) else {
                    throw Violation("a chunk without a frame")
                }
                wire += Array(before.readableBytesView) + piece + [0x0D, 0x0A]
            }
            guard case .lastChunk = encoder.end() else { throw Violation("no last chunk") }
            let last = UpstreamRequest(path: "/", host: "a", via: nil, injectedName: "X-Key")
                .lastChunk(trailers)
            wire += Array(last.readableBytesView)
            // The bytes after a body are not part of it.
            let reading = try BodyReading([(wire + Array("GET ".utf8))[...]])
            try require(
                reading.end == .clean && reading.content == content && reading.rest == Array("GET ".utf8),
                "what was encoded is read otherwise"
            )
            for trailer in reading.trailers {
                try require(
                    !trailer.mustStayHere && !trailer.isLookalike && trailer.hyphenated != "x-key",
                    "the trailer \(trailer.name.text) would go on"
                )
            }
        }
    }
}

/// The result of decoding a chunked body.
private struct BodyReading: Equatable {
    enum End: Equatable {
        case clean, unfinished
        case refused(WireRule)
    }

    var content: [UInt8] = []
    var trailers: [NamedValue] = []
    var rawTrailers: Trailers?
    var end = End.unfinished
    /// The bytes after the body. It is not set if the body was refused.
    var rest: [UInt8] = []

    init(_ pieces: [ArraySlice<UInt8>]) throws {
        var decoder = BodyDecoder(.chunked)
        var buffer = ByteBuffer()
        for piece in pieces {
            buffer.writeBytes(piece)
            do throws(WireError) {
                try self.take(&decoder, &buffer)
            } catch {
                guard let rule = error.rule else { throw Violation("a body was refused by a rule without a name") }
                self.end = .refused(rule)
                return
            }
        }
        self.rest = Array(buffer.readableBytesView)
    }

    private mutating func take(_ decoder: inout BodyDecoder, _ buffer: inout ByteBuffer) throws(WireError) {
        while true {
            switch try decoder.next(&buffer) {
            case .needsMore: return
            case .bytes(let slice): self.content += Array(slice.readableBytesView)
            case .end(let trailers):
                self.end = .clean
                self.rawTrailers = trailers
                self.trailers =
                    trailers.map { trailers in
                        trailers.fields.map { NamedValue($0, in: trailers.bytes) }
                    } ?? []
            }
        }
    }

    static func == (left: BodyReading, right: BodyReading) -> Bool {
        left.content == right.content && left.trailers == right.trailers && left.end == right.end
            && left.rest == right.rest
    }
}
