import HTTPWire
import NIOCore
import Testing

@Suite struct OneRequestTests {
    @Test(arguments: AcceptedRequest.all, OutgoingBody.all)
    func `I9 the upstream gets exactly one request, I8 with one injected field`(
        _ request: AcceptedRequest,
        _ body: OutgoingBody
    ) throws {
        let parsed = try parseRequest([request.bytes[...]])
        let head = try #require(parsed).0
        for name in ["Authorization", "X-A", "Cookie"] {
            try expectOneRequest(leaving: head, body, injecting: name)
        }
    }
}
