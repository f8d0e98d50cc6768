import MockServers

/// A response, read from the wire by a parser that is independent of the product.
struct WireResponse {
    let status: Int
    let fields: [HeaderField]
    let body: [UInt8]

    var text: String { String(decoding: self.body, as: UTF8.self) }

    func value(_ name: String) -> String? { self.fields.first { $0.isNamed(name) }?.value }

    func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONBody.decode(type, from: self.body)
    }

    /// Parses one response at the start of `bytes`. Returns nil if it is incomplete.
    ///
    /// - Parameter atEnd: whether the connection has ended, so that no more bytes will come.
    static func parse(_ bytes: [UInt8], headRequest: Bool = false, atEnd: Bool = false) -> (WireResponse, used: Int)? {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        let fields = lines.dropFirst().map { line in
            let name = line.prefix { $0 != ":" }
            return HeaderField(String(name), String(line.dropFirst(name.count + 1).drop { $0 == " " }))
        }
        let head = WireResponse(status: status, fields: fields, body: [])
        let rest = bytes[end.upperBound...]
        if headRequest || status == 204 || status == 304 || status < 200 {
            return (head, end.upperBound)
        }
        if head.value("Transfer-Encoding") == "chunked" {
            guard let (body, used) = Self.dechunk(rest) else { return nil }
            return (WireResponse(status: status, fields: fields, body: body), used)
        }
        let length = head.value("Content-Length").flatMap { Int($0) } ?? (atEnd ? rest.count : Int.max)
        guard rest.count >= length else { return nil }
        return (WireResponse(status: status, fields: fields, body: Array(rest.prefix(length))), end.upperBound + length)
    }

    private static func dechunk(_ bytes: ArraySlice<UInt8>) -> (body: [UInt8], used: Int)? {
        var body: [UInt8] = []
        var rest = bytes
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            guard let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16) else {
                return nil
            }
            rest = rest[line.upperBound...]
            guard rest.count >= size + 2 else { return nil }
            body += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
            if size == 0 { return (body, rest.startIndex) }
        }
        return nil
    }
}
