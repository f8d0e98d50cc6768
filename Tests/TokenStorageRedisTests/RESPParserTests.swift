import Testing
import TokenStorageRedis

struct RESPParserTests {
    /// Each type with its bytes.
    static let values: [(bytes: String, value: RESPValue)] = [
        ("+OK\r\n", .simple("OK")),
        ("+\r\n", .simple("")),
        ("-WRONGPASS no such user\r\n", .failure(RESPFailure("WRONGPASS no such user"))),
        ("!8\r\nERR \r\n\u{7} \r\n", .failure(RESPFailure("ERR \r\n\u{7} "))),
        (":-9223372036854775808\r\n", .integer(.min)),
        (":+7\r\n", .integer(7)),
        ("_\r\n", .null),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        (",1.5\r\n", .double(1.5)),
        (",-1e3\r\n", .double(-1_000)),
        (",inf\r\n", .double(.infinity)),
        (",-inf\r\n", .double(-.infinity)),
        ("#t\r\n", .boolean(true)),
        ("#f\r\n", .boolean(false)),
        (
            "(-3492890328409238509324850943850943825024385\r\n",
            .bigNumber("-3492890328409238509324850943850943825024385")
        ),
        ("$0\r\n\r\n", .blob([])),
        ("$4\r\n\r\n\r\n\r\n", .blob(Array("\r\n\r\n".utf8))),
        ("=8\r\ntxt:a: b\r\n", .verbatim(format: "txt", Array("a: b".utf8))),
        ("*0\r\n", .array([])),
        ("*2\r\n*1\r\n:1\r\n$1\r\na\r\n", .array([.array([.integer(1)]), .blob(Array("a".utf8))])),
        ("~2\r\n:1\r\n_\r\n", .set([.integer(1), .null])),
        ("%1\r\n+a\r\n*0\r\n", .map([RESPValue.Entry(.simple("a"), .array([]))])),
        (">2\r\n+message\r\n:1\r\n", .push([.simple("message"), .integer(1)])),
        ("|1\r\n+ttl\r\n:1\r\n:2\r\n", .integer(2)),
        ("|0\r\n:2\r\n", .integer(2)),
        ("*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n", .array([.integer(1), .integer(2)])),
        ("*1\r\n-ERR no\r\n", .array([.failure(RESPFailure("ERR no"))])),
    ]

    @Test(arguments: Self.values)
    func `each type is read, wherever its bytes are cut`(bytes: String, value: RESPValue) throws {
        let whole = Array(bytes.utf8)
        for cut in 0...whole.count {
            // Given a part of a value
            var parser = RESPParser()
            parser.append(whole[..<cut])
            if cut < whole.count { #expect(try parser.next() == nil) }

            // When the rest comes, with the beginning of another one
            parser.append(whole[cut...] + Array(":".utf8))

            // Then there is one value
            #expect(try parser.next() == value)
            #expect(try parser.next() == nil)
            parser.append(Array("1\r\n".utf8))
            #expect(try parser.next() == .integer(1))
        }
    }

    @Test func `values that come byte by byte are read in their order`() throws {
        var (parser, read): (RESPParser, [RESPValue]) = (RESPParser(), [])
        for byte in Self.values.flatMap({ Array($0.bytes.utf8) }) {
            parser.append([byte])
            while let value = try parser.next() { read.append(value) }
        }
        #expect(read == Self.values.map(\.value))
    }

    @Test(arguments: [",nan\r\n", ",-nan\r\n"])
    func `what is no number is read as such`(bytes: String) throws {
        var parser = RESPParser()
        parser.append(Array(bytes.utf8))
        let value = try parser.next()
        guard case .double(let number)? = value else {
            Issue.record("no double")
            return
        }
        #expect(number.isNaN)
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n", "\r\n", "\n", "+a\n", "+a\rb\r\n", ":\r\n", ":1.5\r\n", ": 1\r\n", ":a\r\n",
        ":9223372036854775808\r\n", "_x\r\n", "#x\r\n", "#\r\n", ",0x1p3\r\n", ",\r\n", ",infinity\r\n", "(\r\n",
        "(1a\r\n",
        "$-2\r\n", "$x\r\n", "$?\r\n", "*?\r\n", "%?\r\n", "~?\r\n", ">?\r\n", "$1\r\nab\r\n", "!-1\r\n", "=-1\r\n",
        "=3\r\ntxt\r\n", "=5\r\ntxt-a\r\n", "*-2\r\n", "~-1\r\n", "%-1\r\n", "*1\r\n>1\r\n:1\r\n",
        "$2097153\r\n", "*100001\r\n", "%100001\r\n", "$99999999999999999999\r\n",
        String(repeating: "*1\r\n", count: 9), "+" + String(repeating: "a", count: 65_536),
    ])
    func `malformed and oversized input is an error, for ever`(bytes: String) {
        var parser = RESPParser()
        parser.append(Array(bytes.utf8))
        #expect(throws: RESPError.self) { while try parser.next() != nil {} }
        parser.append(Array(":1\r\n".utf8))
        #expect(throws: RESPError.self) { try parser.next() }
    }

    @Test func `a value of many large parts is too large`() {
        var parser = RESPParser()
        let part = Array("$1048576\r\n".utf8) + [UInt8](repeating: 7, count: 1 << 20) + Array("\r\n".utf8)
        #expect(throws: RESPError.self) {
            parser.append(Array("*9\r\n".utf8))
            for _ in 0..<9 {
                parser.append(part)
                _ = try parser.next()
            }
        }
    }

    @Test func `the largest text is read`() throws {
        var parser = RESPParser()
        let text = [UInt8](repeating: 7, count: 2 << 20)
        parser.append(Array("$\(text.count)\r\n".utf8) + text + Array("\r\n".utf8))
        #expect(try parser.next() == .blob(text))
    }
}
