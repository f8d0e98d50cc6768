import HTTPWire
import NIOCore
import Testing

@Suite struct MediaTypeTests {
    private func head(_ fields: String) throws -> ResponseHead {
        var parser = ResponseHeadParser()
        var bytes = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n")
        return try #require(try parser.next(&bytes, answering: .get))
    }

    @Test(
        arguments: [
            ("", false),
            ("Content-Type: application/json\r\n", true),
            ("content-type: Application/JSON ; charset=utf-8\r\n", true),
            ("Content-Type: application/json;charset=utf-8\r\nContent-Encoding: identity\r\n", true),
            ("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", false),
            ("Content-Type: application/jsonl\r\n", false),
            ("Content-Type: application/problem+json\r\n", false),
            ("Content-Type: text/html\r\n", false),
            ("Content-Type: application/json\r\nContent-Type: application/json\r\n", false),
        ] as [(String, Bool)]
    )
    func `a body is JSON if one Content-Type says so and it is not compressed`(fields: String, isJSON: Bool) throws {
        #expect(try self.head(fields).isPlainJSON == isJSON)
    }
}
