import HTTPWire
import NIOCore
import Testing

/// One parser's heads take turns in the same memory, and are apart from each other for all that.
@Suite struct SpareFieldsTests {
    /// More than are kept for.
    private static let many = 60

    @Test(arguments: [[1, 5, 2], [many, 1, many], [3, many, 3]])
    func `a request that is still held keeps its fields while the next ones come`(counts: [Int]) throws {
        // Given requests on one connection, each with other fields
        let requests = counts.enumerated().map { number, count in
            head(["GET / HTTP/1.1", "Host: a"] + (0..<count).map { "Field-\(number)-\($0): \($0)" })
        }
        var buffer = ByteBuffer(bytes: requests.joined())
        var parser = RequestHeadParser()

        // When all are taken, and none is given up
        let heads = try requests.map { _ in
            let next = try parser.next(&buffer)
            return try #require(next)
        }

        // Then each has its own
        for (number, (request, count)) in zip(heads, counts).enumerated() {
            let names = request.fields.map { text($0.name, of: request.bytes) }
            #expect(names == ["Host"] + (0..<count).map { "Field-\(number)-\($0)" })
        }
    }

    @Test(arguments: [[1, 5, 2], [many, 1, many], [3, many, 3]])
    func `and so does an answer`(counts: [Int]) throws {
        let answers = counts.enumerated().map { number, count in
            head(["HTTP/1.1 103 Early Hints"] + (0..<count).map { "Field-\(number)-\($0): \($0)" })
        }
        var buffer = ByteBuffer(bytes: answers.joined())
        var parser = ResponseHeadParser()
        let heads = try answers.map { _ in
            let next = try parser.next(&buffer, answering: .get)
            return try #require(next)
        }
        for (number, (answer, count)) in zip(heads, counts).enumerated() {
            let names = answer.fields.map { text($0.name, of: answer.bytes) }
            #expect(names == (0..<count).map { "Field-\(number)-\($0)" })
        }
    }

    @Test func `a request that broke a rule leaves nothing for the next`() throws {
        var parser = RequestHeadParser()
        var broken = ByteBuffer(bytes: head(["GET / HTTP/1.1", "Host: a", "One: 1", "Two : 2"]))
        #expect(throws: WireError.self) { try parser.next(&broken) }
        var buffer = ByteBuffer(bytes: head(["GET / HTTP/1.1", "Host: a"]))
        let next = try parser.next(&buffer)
        #expect(try #require(next).fields.count == 1)
    }
}
