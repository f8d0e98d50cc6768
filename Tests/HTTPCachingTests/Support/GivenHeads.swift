import HTTPWire
import NIOCore
import Testing

/// Heads as they come from a caller and an upstream.
enum Given {
    /// - Parameter fields: lines without their ends, such as `Cache-Control: no-cache`. `Host` is added.
    static func request(_ line: String = "GET /a", _ fields: String...) throws -> RequestHead {
        try self.request(line, fields)
    }

    static func request(_ line: String = "GET /a", _ fields: [String]) throws -> RequestHead {
        let lines = ["\(line) HTTP/1.1", "Host: a.example"] + fields + ["", ""]
        var bytes = ByteBuffer(string: lines.joined(separator: "\r\n"))
        var parser = RequestHeadParser()
        return try #require(try parser.next(&bytes))
    }

    /// - Parameter fields: lines without their ends.
    static func response(_ status: String = "200 OK", _ fields: String..., to method: HTTPMethod = .get) throws
        -> ResponseHead
    {
        try self.response(status, fields, to: method)
    }

    static func response(_ status: String = "200 OK", _ fields: [String], to method: HTTPMethod = .get) throws
        -> ResponseHead
    {
        var bytes = ByteBuffer(string: (["HTTP/1.1 \(status)"] + fields + ["", ""]).joined(separator: "\r\n"))
        var parser = ResponseHeadParser()
        return try #require(try parser.next(&bytes, answering: method))
    }
}
