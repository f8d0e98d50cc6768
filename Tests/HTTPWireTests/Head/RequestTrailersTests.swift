import HTTPWire
import Testing

@Suite struct RequestTrailersTests {
    @Test(arguments: [
        ([], false), (["TE:"], false), (["TE: gzip"], false), (["TE: trailersx"], false), (["Trailer: X"], false),
        (["X-TE: trailers"], false), (["TE: trailers"], true), (["te:TRAILERS"], true),
        (["TE: gzip;q=0.5,\ttrailers"], true), (["TE: gzip", "TE: trailers"], true),
        (["Connection: TE", "TE: trailers"], true),
    ])
    func `a caller that says it knows trailers may send some on`(lines: [String], passes: Bool) throws {
        let request = head(["POST / HTTP/1.1", "Host: a"] + lines)
        let parsed = try parseRequest([request[...]])
        #expect(parsed?.0.passesTrailers == passes)
        // What belongs to the connection stays here all the same.
        let summary = try #require(readRequest([request[...]]).summary)
        #expect(!summary.passing.contains { $0.lowercased().hasPrefix("te:") })
    }
}
