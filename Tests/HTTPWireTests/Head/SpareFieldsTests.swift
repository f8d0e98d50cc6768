import HTTPWire
import NIOCore
import Testing

/// A parser reuses the memory of released heads. Heads that are still held keep their own memory.
@Suite struct SpareFieldsTests {
    /// A number of fields whose memory is too large to be reused.
    private static let many = 60

    @Test(arguments: [[1, 5, 2], [many, 1, many], [3, many, 3]])
    func `a request that is still held keeps its fields while the next ones come`(counts: [Int]) throws {
        // Given requests on one connection, each with different fields
        let requests = counts.enumerated().map { number, count in
            head(["GET / HTTP/1.1", "Host: a"] + (0..<count).map { "Field-\(number)-\($0): \($0)" })
        }
        var buffer = ByteBuffer(bytes: requests.joined())
        var parser = RequestHeadParser()

        // When all are read, and none is released
        let heads = try requests.map { _ in
            let next = try parser.next(&buffer)
            return try #require(next)
        }

        // Then each has its own fields
        for (number, (request, count)) in zip(heads, counts).enumerated() {
            let names = request.fields.map { text($0.name, of: request.bytes) }
            #expect(names == ["Host"] + (0..<count).map { "Field-\(number)-\($0)" })
        }
    }

    @Test(arguments: [[1, 5, 2], [many, 1, many], [3, many, 3]])
    func `a response that is still held keeps its fields while the next ones come`(counts: [Int]) throws {
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

    /// - Returns: the capacity, in fields, of a head with one field that follows a released head with `count` fields.
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

    @Test func `the next head reuses the memory of a released head, unless it was large`() throws {
        // Given a head with more fields than most, and one too large for its memory to be reused
        let (some, many) = (20, Self.many)

        // When each head is released, and a small head follows
        let kept = [try self.roomOfRequest(after: some), try self.roomOfAnswer(after: some)]
        let new = [try self.roomOfRequest(after: many), try self.roomOfAnswer(after: many)]

        // Then the small head reuses the memory of the first, but gets small memory of its own after the second
        #expect(kept.allSatisfy { $0 >= some }, "\(kept)")
        #expect(new.allSatisfy { $0 < some }, "\(new)")
    }

    @Test func `a refused request leaves no fields to the next one`() throws {
        var parser = RequestHeadParser()
        var broken = ByteBuffer(bytes: head(["GET / HTTP/1.1", "Host: a", "One: 1", "Two : 2"]))
        #expect(throws: WireError.self) { try parser.next(&broken) }
        var buffer = ByteBuffer(bytes: head(["GET / HTTP/1.1", "Host: a"]))
        let next = try parser.next(&buffer)
        #expect(try #require(next).fields.count == 1)
    }
}
