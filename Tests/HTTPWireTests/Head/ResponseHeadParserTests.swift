import HTTPWire
import NIOCore
import Testing

@Suite struct ResponseHeadParserTests {
    @Test(arguments: RefusedResponse.all)
    func `a hostile response is refused, however it arrives`(_ answer: RefusedResponse) throws {
        for pieces in arrivals(of: answer.bytes) {
            let reading = readAnswer(pieces)
            try #require(reading == .refused(answer.code), "in \(pieces.count) pieces, the first of \(pieces[0].count)")
            let error = #expect(throws: WireError.self) { try parseAnswer(pieces) }
            try #require(error?.rule == answer.rule, "in \(pieces.count) pieces, the first of \(pieces[0].count)")
        }
    }

    @Test(arguments: RefusedResponse.sizes)
    func `the refusal of a part that is too large names its rule`(_ answer: RefusedResponse) {
        for size in [answer.bytes.count, 1_000] {
            let pieces = stride(from: 0, to: answer.bytes.count, by: size)
                .map { answer.bytes[$0..<min($0 + size, answer.bytes.count)] }
            #expect(throws: WireError(answer.rule)) { try parseAnswer(pieces) }
            #expect((#expect(throws: WireError.self) { try parseAnswer(pieces) })?.rule == answer.rule)
        }
    }

    @Test(arguments: AcceptedResponse.equalLengths)
    func `equal lengths in a response count as one, however it arrives`(_ answer: AcceptedResponse) throws {
        for pieces in arrivals(of: answer.bytes) {
            let reading = try #require(readAnswer(pieces).summary)
            #expect(reading.body == .length(3))
            #expect(reading.passing == ["A: b"])
        }
    }

    @Test(arguments: AcceptedResponse.all)
    func `a valid response is read, however it arrives`(_ answer: AcceptedResponse) throws {
        let whole = try #require(readAnswer([answer.bytes[...]], answering: answer.method).summary)
        #expect(whole.status == answer.status)
        #expect(whole.body == answer.body)
        #expect(whole.describedLength == answer.describedLength)
        #expect(whole.keepsAlive == answer.keepsAlive)
        #expect(whole.isInterim == (answer.status < 200))

        for pieces in arrivals(of: answer.bytes) {
            try #require(readAnswer(pieces, answering: answer.method) == .whole(whole), "in \(pieces.count) pieces")
        }
    }

    @Test(arguments: AcceptedResponse.all)
    func `llhttp reads the same from a valid response`(_ answer: AcceptedResponse) throws {
        let parsed = try parseAnswer([answer.bytes[...]], answering: answer.method)
        try expectSameReading(of: #require(parsed).0, answering: answer.method)
    }

    @Test(arguments: AcceptedResponse.all)
    func `the parser waits for the rest of an incomplete head`(_ answer: AcceptedResponse) {
        for end in answer.bytes.indices {
            #expect(readAnswer([answer.bytes[..<end]], answering: answer.method) == .unfinished)
        }
    }

    @Test func `interim responses and the final response come out one by one`() throws {
        var buffer = ByteBuffer(
            bytes: head(["HTTP/1.1 100 Continue"]) + head(["HTTP/1.1 103 X", "Link: <a>"]) + head(["HTTP/1.1 200 OK"])
        )
        buffer.writeString("body")
        var parser = ResponseHeadParser()
        var statuses: [Int] = []
        for _ in 0..<3 {
            let head = try parser.next(&buffer, answering: .get)
            try statuses.append(#require(head).status)
        }
        #expect(statuses == [100, 103, 200])
        #expect(text(buffer) == "body")
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2p1\r\n", "HTTP/1.1 2000 OK\r\n", "220 smtp.example ESMTP\r\n", "HTTP/1.1 200 OK\n",
    ])
    func `an upstream that does not speak HTTP is refused after one line`(start: String) {
        #expect(readAnswer([bytes(start)[...]]) == .refused(.badRequest))
    }
}
