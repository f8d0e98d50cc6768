import HTTPWire
import NIOCore

/// What a decoder made of a body's bytes.
struct BodySummary: Equatable, Sendable {
    enum End: Equatable, Sendable {
        case clean
        case refused(Refusal)
        case unfinished
    }

    var content = ""
    var trailers: [String] = []
    var end = End.unfinished
    /// The bytes that the decoder did not take; empty after a refusal.
    var rest = ""
}

/// Reads one body from bytes that arrive in `pieces`.
func readBody(_ pieces: [ArraySlice<UInt8>], framed framing: BodyFraming) -> BodySummary {
    var decoder = BodyDecoder(framing)
    var buffer = ByteBuffer()
    var summary = BodySummary()
    for piece in pieces {
        buffer.writeBytes(piece)
        do {
            reading: while true {
                switch try decoder.next(&buffer) {
                case .bytes(let slice): summary.content += text(slice)
                case .needsMore: break reading
                case .end(let trailers):
                    summary.end = .clean
                    summary.trailers = trailers.map { describe($0.fields, of: $0.bytes) } ?? []
                }
            }
        } catch {
            summary.end = .refused(error.code)
            return summary
        }
    }
    summary.rest = text(buffer)
    return summary
}
