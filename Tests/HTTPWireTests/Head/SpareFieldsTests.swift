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

    /// - Returns: how many fields the memory of a head with one field has room for, after a head with `count` was let go of.
    private func roomOfRequest(after count: Int) throws -> Int {
        var parser = RequestHeadParser()
        var buffer = ByteBuffer(bytes: head(["GET / HTTP/1.1", "Host: a"] + (1..<count).map { "Field-\($0): x" }))
        let taken = try parser.next(&buffer)?.fields.count
        try #require(taken == count)
        buffer = ByteBuffer(bytes: head(["GET / HTTP/1.1", "Host: a"]))
        let next = try parser.next(&buffer)
        return try #require(next).fields.capacity
    }

    private func roomOfAnswer(after count: Int) throws -> Int {
        var parser = ResponseHeadParser()
        var buffer = ByteBuffer(bytes: head(["HTTP/1.1 204 No Content"] + (0..<count).map { "Field-\($0): x" }))
        let taken = try parser.next(&buffer, answering: .get)?.fields.count
        try #require(taken == count)
        buffer = ByteBuffer(bytes: head(["HTTP/1.1 204 No Content", "Field: x"]))
        let next = try parser.next(&buffer, answering: .get)
        return try #require(next).fields.capacity
    }

    @Test func `the memory of a head that is gone is the next one's, where it was not large`() throws {
        // Given heads of more fields than most have, and of more than are kept for
        let (some, many) = (20, Self.many)

        // When each is let go of, and a small one comes behind it
        let kept = [try self.roomOfRequest(after: some), try self.roomOfAnswer(after: some)]
        let new = [try self.roomOfRequest(after: many), try self.roomOfAnswer(after: many)]

        // Then that has the memory of the one, and a small one of its own after the other
        #expect(kept.allSatisfy { $0 >= some }, "\(kept)")
        #expect(new.allSatisfy { $0 < some }, "\(new)")
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
