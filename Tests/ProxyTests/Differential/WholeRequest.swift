import NIOCore

/// Cuts a stream into requests, for an upstream that must respond to each. It knows only the framings that the gateway
/// writes, in the form in which the gateway writes them.
enum WholeRequest {
    /// The length of the first request in bytes, or `nil` while the request is incomplete.
    static func length(_ stream: ByteBufferView) -> Int? {
        guard let end = Self.end(of: [13, 10, 13, 10], in: stream, from: stream.startIndex) else { return nil }
        let head = String(decoding: stream[..<end], as: UTF8.self)
        for line in head.split(separator: "\r\n") {
            if line.hasPrefix("Content-Length: "), let length = Int(line.dropFirst(16)) {
                return end + length <= stream.endIndex ? end + length - stream.startIndex : nil
            }
            if line == "Transfer-Encoding: chunked" {
                return Self.chunks(stream, from: end).map { $0 - stream.startIndex }
            }
        }
        return end - stream.startIndex
    }

    /// The end of the chunked body that begins at `start`, or `nil` while the body is incomplete.
    private static func chunks(_ stream: ByteBufferView, from start: Int) -> Int? {
        var position = start
        while let end = Self.end(of: [13, 10], in: stream, from: position) {
            let size = Int(String(decoding: stream[position..<(end - 2)], as: UTF8.self), radix: 16) ?? 0
            if size == 0 { return Self.trailers(stream, from: end) }
            position = end + size + 2
            guard position <= stream.endIndex else { return nil }
        }
        return nil
    }

    private static func trailers(_ stream: ByteBufferView, from start: Int) -> Int? {
        var position = start
        while let end = Self.end(of: [13, 10], in: stream, from: position) {
            if end == position + 2 { return end }
            position = end
        }
        return nil
    }

    private static func end(of tokenVersion: [UInt8], in stream: ByteBufferView, from start: Int) -> Int? {
        var position = start
        while position + tokenVersion.count <= stream.endIndex {
            if stream[position..<(position + tokenVersion.count)].elementsEqual(tokenVersion) {
                return position + tokenVersion.count
            }
            position += 1
        }
        return nil
    }
}
