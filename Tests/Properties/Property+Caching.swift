import HTTPCaching
import HTTPWire
import NIOCore
import TokenModel

extension Property {
    /// Whatever the fields say: a stored response is used past its freshness only where a directive allows it, a
    /// confirmation keeps the body and replaces fields, and what is served lies within the body.
    ///
    /// The first byte of the input selects how long the response has been stored. A request, its response, and a
    /// response that confirms that one follow.
    package static let caching = Property("Caching") { input in
        guard let first = input.first else { return }
        var buffer = ByteBuffer(bytes: input.dropFirst())
        var requests = RequestHeadParser()
        var responses = ResponseHeadParser()
        guard let request = try? requests.next(&buffer),
            let answer = try? responses.next(&buffer, answering: .get), answer.status >= 200
        else { return }
        let update = try? responses.next(&buffer, answering: .get)
        var plain = ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        // A request may refuse what another has stored.
        for storer in [request, try? requests.next(&plain)].compactMap({ $0 }) {
            for rules in [CacheRules(), CacheRules(defaultTTL: 60, staleIfError: 60)] {
                let scene = CacheScene(request: request, storer: storer, answer: answer, rules: rules)
                try scene.check(after: Self.delays[Int(first) % Self.delays.count], update: update)
            }
        }
    }

    /// In seconds.
    private static let delays = [0, 1, 59, 60, 61, 3_600, 86_400, 1 << 31, 1 << 33]
}

/// A response to one request that is stored, and another request for it.
private struct CacheScene {
    let request: RequestHead
    let storer: RequestHead
    let answer: ResponseHead
    let rules: CacheRules

    private static let sent = SentFields(injectedName: "X-Key", asksForIdentity: true, appendsForwarded: true)
    private static let owner = CacheOwner(grant: GrantID("g"), scopes: [], observedEpoch: Epoch(1))

    private func times(after seconds: Int) -> ExchangeTimes {
        let received = BootInstant(nanoseconds: 1_000_000_000_000).advanced(by: .seconds(seconds))
        return ExchangeTimes(
            requestedAt: received.advanced(by: .milliseconds(-700)),
            receivedAt: received,
            receivedAtWall: WallTime(millisecondsSince1970: 1_795_680_000_000).advanced(by: .seconds(seconds))
        )
    }

    func check(after seconds: Int, update: ResponseHead?) throws {
        let storable = try? StorableResponse(
            self.answer,
            to: self.storer,
            RequestDirectives(self.storer),
            self.times(after: 0),
            self.rules,
            Self.sent,
            owner: Self.owner
        )
        guard let storable else { return }
        let length = storable.bodyLength ?? 10
        guard length < 100_000 else { return }
        let body = StoredBody(ByteBuffer(repeating: 0x61, count: length))
        guard let stored = storable.with(body) else { throw Violation("a body of the declared length is not stored") }
        try self.checkStored(stored)
        let now = self.times(after: seconds).receivedAt
        try self.checkDecision(stored, at: now)
        try self.checkServed(stored)
        if let update, update.status == 304 { try self.checkUpdate(stored, by: update, after: seconds) }
    }

    private func checkStored(_ stored: StoredResponse) throws {
        try require(stored.vary.matches(self.storer), "its own request does not match")
        try require(stored.head.status == self.answer.status, "another status")
        try require(stored.body.count == 0 || stored.head.body == .length(stored.body.count), "framed otherwise")
        for field in stored.head.fields.map({ NamedValue($0, in: stored.head.bytes) }) {
            let isOwn = ["connection", "transfer-encoding", "age", "set-cookie", "keep-alive", "trailer", "upgrade"]
                .contains { field.isCalled($0) }
            try require(!isOwn, "\(field.name.text) is stored")
        }
        let words = CacheWords(self.answer.fields, self.answer.bytes)
        try require(!words.has("no-store") || words.has("must-understand"), "stored in spite of no-store")
        try require(!CacheWords(self.storer.fields, self.storer.bytes).has("no-store"), "the request forbids storing")
        let isExplicit =
            words.text.contains("max-age")
            || self.answer.fields.contains {
                NamedValue($0, in: self.answer.bytes).isCalled("expires")
            }
        try require(
            stored.freshness.lifetime <= (isExplicit ? 1 << 31 : self.rules.defaultTTL),
            "fresh for \(stored.freshness.lifetime) s, and nothing says so"
        )
    }

    private func checkDecision(_ stored: StoredResponse, at now: BootInstant) throws {
        let directives = RequestDirectives(self.request)
        let asks = CacheWords(self.request.fields, self.request.bytes)
        let says = CacheWords(self.answer.fields, self.answer.bytes)
        let ttl = stored.freshness.ttl(at: now)
        try require(
            stored.freshness.age(at: now) <= stored.freshness.age(at: now.advanced(by: .seconds(1))),
            "it becomes younger"
        )
        let decision = CacheDecision(self.request, directives, stored: stored, otherVariants: false, at: now)
        switch decision {
        case .serve(let served):
            try require(served == ttl, "another ttl")
            try require(ttl > 0 || asks.text.contains("max-stale"), "stale for \(-ttl) s without leave")
            try require(ttl > 0 || !says.has("must-revalidate"), "stale in spite of must-revalidate")
        case .serveAndRevalidate(let served):
            try require(served == ttl && ttl <= 0, "another ttl")
            try require(says.text.contains("stale-while-revalidate"), "stale for \(-ttl) s without leave")
            try require(!says.has("must-revalidate"), "stale in spite of must-revalidate")
        case .revalidate: try require(!stored.validators.lines().isEmpty, "nothing to ask by")
        case .forward, .refuse: break
        }
        switch decision {
        case .serve, .serveAndRevalidate:
            try require(!says.has("no-cache") && !asks.has("no-cache"), "used without confirmation")
            try require(self.request.method == .get || self.request.method == .head, "an answer to another method")
        case .refuse: try require(asks.text.contains("only-if-cached"), "refused without need")
        case .revalidate, .forward: try require(!asks.has("only-if-cached"), "forwarded in spite of only-if-cached")
        }
        guard stored.mayServeOnError(directives, self.rules, at: now) else { return }
        try require(
            ttl > 0 || self.rules.staleIfError > -ttl || asks.text.contains("stale-if-error")
                || says.text.contains("stale-if-error"),
            "stale for \(-ttl) s in place of an error without leave"
        )
        try require(!says.has("must-revalidate") && !says.has("no-cache") && !asks.has("no-cache"), "in spite of all")
    }

    private func checkServed(_ stored: StoredResponse) throws {
        let directives = RequestDirectives(self.request)
        guard self.request.method == .get || self.request.method == .head else { return }
        let served = ServedResponse(stored, to: self.request, directives)
        let length = stored.body.count
        try require(
            served.body.lowerBound >= 0 && served.body.upperBound <= length,
            "\(served.body) of \(length) bytes"
        )
        switch served.head.status {
        case 206, 416: try require(directives.conditions.contains(.range), "a part that nobody asked for")
        case 304: try require(!directives.conditions.isEmpty, "a 304 without a condition")
        default: try require(served.head.status == stored.head.status, "another status")
        }
        if served.head.status == 206 { try require(!served.body.isEmpty, "an empty part") }
        switch served.head.body {
        case .length(let announced): try require(announced == served.body.count, "\(announced) bytes are announced")
        case .none: try require(served.body.isEmpty, "a body that the head does not announce")
        case .chunked, .untilClose: throw Violation("a stored response without a length")
        }
    }

    private func checkUpdate(_ stored: StoredResponse, by update: ResponseHead, after seconds: Int) throws {
        let updated = stored.confirmed(
            by: update,
            to: self.storer,
            self.times(after: seconds),
            self.rules,
            Self.sent,
            owner: Self.owner
        )
        guard let updated else { return }
        try require(updated.body === stored.body, "another body")
        try require(updated.head.status == stored.head.status, "another status")
        try require(updated.head.body == stored.head.body, "framed otherwise")
        let old = stored.head.fields.map { NamedValue($0, in: stored.head.bytes) }
        let new = update.fields.filter { !$0.isStripped }.map { NamedValue($0, in: update.bytes) }
        let kept = ["age", "content-length", "content-encoding", "content-range", "set-cookie", "trailer"]
        for field in updated.head.fields.map({ NamedValue($0, in: updated.head.bytes) }) {
            let name = field.name.lowercased.text
            guard name != "date", name != "content-length" else { continue }
            let replacing = kept.contains(name) ? [] : new.filter { $0.isCalled(name) }
            let expected = replacing.isEmpty ? old.filter { $0.isCalled(name) } : replacing
            try require(expected.contains { $0.value == field.value }, "\(name) is not what it should be")
        }
        for field in new where !kept.contains(field.name.lowercased.text) {
            let isThere = updated.head.fields.contains {
                let stored = NamedValue($0, in: updated.head.bytes)
                return stored.name == field.name && stored.value == field.value
            }
            try require(isThere, "\(field.name.text) of the 304 is missing")
        }
    }
}

/// `Cache-Control`, read in the plainest way.
private struct CacheWords {
    /// All values in lower case.
    let text: String
    private let members: Set<String>

    init(_ fields: [Field], _ bytes: ByteBuffer) {
        let values = fields.map { NamedValue($0, in: bytes) }.filter { $0.isCalled("cache-control") }
        self.text = values.map(\.value.lowercased.text).joined(separator: ", ")
        let members = self.text.split(separator: ",").map { $0.trimming { $0 == " " || $0 == "\t" } }
        // What quotes hide depends on more than commas.
        self.members = self.text.contains("\"") ? [] : Set(members)
    }

    /// Whether `directive` is among them, without a value. Where quotes may hide it, the result is `false`.
    func has(_ directive: String) -> Bool { self.members.contains(directive) }
}

extension Substring {
    fileprivate func trimming(_ isSpace: (Character) -> Bool) -> String {
        String(self.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
