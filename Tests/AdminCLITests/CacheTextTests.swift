internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct CacheTextTests {
    private static func reply(_ text: String) -> AdminReply { AdminReply(httpStatus: 200, body: Array(text.utf8)) }

    @Test func `each route with a cache has a line`() throws {
        let text = """
            {"caches":[{"route":"acme","entries":1204,"bytes":12582912,"max_bytes":268435456,"hits":995,"misses":4,
            "revalidations":1,"evictions":3},{"route":"raw","entries":0,"bytes":0,"max_bytes":8388608,"hits":0,"misses":0,
            "revalidations":0,"evictions":0}]}
            """
        #expect(
            CacheText.lines(try Self.reply(text).read(CachesReply.self)) == [
                "ROUTE  RESPONSES  MEMORY             HITS  MISSES  REVALIDATIONS  EVICTIONS  HIT RATE",
                "acme   1204       12 MiB of 256 MiB  995   4       1              3          99 %",
                "raw    0          0 B of 8 MiB       0     0       0              0          -",
            ]
        )
    }

    @Test func `without a route that has a cache, the line names the setting`() throws {
        let lines = CacheText.lines(try Self.reply(#"{"caches":[]}"#).read(CachesReply.self))
        #expect(lines == ["no route has a cache: cache, below a route in the configuration, gives it one"])
    }

    @Test(arguments: [
        (#"{"entries":1,"bytes":812}"#, "purged 1 stored response, 812 B, from the memory of this gateway process"),
        (#"{"entries":0,"bytes":0}"#, "purged 0 stored responses, 0 B, from the memory of this gateway process"),
    ])
    func `a purge says what it removed, and that other processes keep theirs`(text: String, line: String) throws {
        let lines = CacheText.lines(try Self.reply(text).read(PurgeReply.self))
        #expect(lines.first == line)
        #expect(lines.last == "others on its store keep their own: purge each through its admin API, with --admin")
    }

    @Test(arguments: [
        (0, "0 B"), (1_023, "1023 B"), (1_024, "1 KiB"), (1_535, "1.4 KiB"), (1_048_575, "1023.9 KiB"),
        (1_048_576, "1 MiB"), (1_610_612_736, "1.5 GiB"), (Int.max, "8388607.9 TiB"),
    ])
    func `a size has the largest unit of which there is one`(bytes: Int, text: String) {
        #expect(CacheText.size(bytes) == text)
    }

    @Test func `an order leaves out what is not named`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        func text(_ order: PurgeOrder) throws -> String { String(decoding: try encoder.encode(order), as: UTF8.self) }
        #expect(try text(PurgeOrder(route: nil, account: nil, path: nil)) == "{}")
        #expect(
            try text(PurgeOrder(route: "acme", account: "alice", path: "/a?b"))
                == #"{"account":"alice","path":"/a?b","route":"acme"}"#
        )
    }
}
