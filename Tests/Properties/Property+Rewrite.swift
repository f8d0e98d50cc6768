import HTTPWire
import NIOCore

extension Property {
    /// A head that is sent to an upstream or to a caller is one head that a strict reader accepts. Its framing is as
    /// intended, each forwarded field is unchanged, and one field is injected.
    ///
    /// The first byte of the input selects the direction: `<` is a response, `H` a response to HEAD, everything else a
    /// request.
    package static let rewrite = Property("Rewrite") { input in
        guard let first = input.first else { return }
        let head = Array(input.dropFirst())
        switch first {
        case 0x3C: try Self.checkAnswer(head, to: .get)
        case 0x48: try Self.checkAnswer(head, to: .head)
        default: try Self.checkRequest(head)
        }
    }

    /// Larger limits, since a rewritten head may be longer than the original.
    private static let roomy = HeadLimits(head: 1 << 20, field: 1 << 20, fields: 1_000, target: 1 << 16)

    private static func checkRequest(_ input: [UInt8]) throws {
        guard case .taken(let request, _) = RequestReading([input[...]]) else { return }
        let own = request.named
        for name in ["Authorization", "X-Api-Key", "Cookie"] {
            let passesCookies = name == "X-Api-Key"
            let upstream = UpstreamRequest(
                path: "/v2/",
                host: "api.example:444",
                via: Via(word: "w"),
                injectedName: name,
                passesCookies: passesCookies,
                appendsForwarded: passesCookies
            )
            // The gateway refuses such a request.
            let isMistakable = own.contains { $0.name.contains(0x5F) && $0.hyphenated == name.lowercased() }
            try require(upstream.isMistakable(request) == isMistakable, "a field may be read as \(name)")
            guard !isMistakable else { continue }
            for framing in [request.body, .none, .length(12), .chunked] {
                let hop = ForwardingHop(address: "192.0.2.7", isEncrypted: true)
                var head = upstream.head(for: request, replacing: 0, framing: framing, hop: hop, spare: 64)
                head.writeString("\(name): Bearer t0ken\r\n\r\n")
                guard
                    case .taken(let read, let rest) = RequestReading(
                        [Array(head.readableBytesView)[...]],
                        limits: roomy
                    )
                else { throw Violation("what leaves is not taken: \(String(buffer: head))") }
                try require(rest.isEmpty, "something behind the head")
                try require(read.body == framing, "framed otherwise")
                try require(read.method == request.method && read.minorVersion == 1, "another method or version")
                let fields = read.named
                let injected = fields.filter { $0.isCalled(name.lowercased()) }
                try require(injected.map(\.value.text) == ["Bearer t0ken"], "\(injected.count) fields called \(name)")
                try require(fields.filter { $0.isCalled("host") }.map(\.value.text) == ["api.example:444"], "the host")
                let passing = own.filter { field in
                    !field.isStripped && !field.isCalled(name.lowercased())
                        && (passesCookies || !field.isCalled("cookie"))
                        && (request.maxForwards == nil || !field.isCalled("max-forwards"))
                }
                let arriving = fields.filter { field in
                    !["host", "content-length", "transfer-encoding", "connection", "upgrade", name.lowercased()]
                        .contains { field.isCalled($0) } && !field.isForwarding
                }
                try Self.checkForwarding(fields.filter(\.isForwarding), isAppended: passesCookies)
                var (names, values) = (passing.map(\.name), passing.map(\.value))
                if let maxForwards = request.maxForwards {
                    names.append(Array("Max-Forwards".utf8))
                    values.append(Array("\(max(maxForwards - 1, 0))".utf8))
                }
                names.append(Array("Via".utf8))
                values.append(Array("1.\(request.minorVersion) martlet (w)".utf8))
                try require(
                    arriving.map(\.name) == names && arriving.map(\.value) == values,
                    "other fields arrive: \(String(buffer: head))"
                )
                try Self.checkConnection(fields, upgrades: request.asksForWebSocket, else: [])
            }
        }
    }

    /// Checks that forwarding fields are dropped, or that each one occurs once and ends with the facts about the
    /// caller.
    private static func checkForwarding(_ fields: [NamedValue], isAppended: Bool) throws {
        guard isAppended else { return try require(fields.isEmpty, "what tells of the caller goes on") }
        for (name, last) in [("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https")] {
            let lists = fields.filter { $0.isCalled(name) }.map(\.value.text)
            try require(lists.count == 1 && lists.allSatisfy { $0.hasSuffix(last) }, "\(name) is \(lists)")
        }
        let lists = fields.filter { $0.isCalled("forwarded") }.map(\.value.text)
        try require(lists.count == 1 && lists.allSatisfy { $0.hasSuffix(";proto=https") }, "Forwarded is \(lists)")
        // All quoted strings are removed. A remaining quote would be one that is not closed.
        let quotes = lists.joined().replacing(/"(?:[^"\\]|\\.)*"/, with: "")
        try require(!quotes.contains("\""), "Forwarded leaves a quote open: \(lists)")
        try require(fields.allSatisfy { !$0.isCalled("x-real-ip") }, "X-Real-IP goes on")
    }

    /// Checks the hop-by-hop fields: the connection switches to WebSocket if the other side asked for that. Otherwise
    /// its options are `options`, and `protocols` are offered.
    private static func checkConnection(
        _ fields: [NamedValue],
        upgrades: Bool,
        else options: [String],
        offering protocols: [String] = []
    ) throws {
        let said = fields.filter { $0.isCalled("connection") }.map(\.value.text)
        let expected = upgrades ? ["Upgrade"] : options + protocols.map { _ in "Upgrade" }
        try require(said == expected, "the connection's options are \(said)")
        let upgrade = fields.filter { $0.isCalled("upgrade") }.map(\.value.text)
        try require(upgrade == (upgrades ? ["websocket"] : protocols), "an upgrade to \(upgrade)")
    }

    private static func checkAnswer(_ input: [UInt8], to method: HTTPMethod) throws {
        guard let answer = Self.answer(input, to: method, limits: .response) else { return }
        // For an HTTP/1.1 caller, a body that ends with the connection becomes chunked.
        let framing = answer.body == .untilClose ? BodyFraming.chunked : answer.body
        let targets = ResponseTargets(
            scheme: "https",
            authority: "api.example",
            upstreamPath: "/v2/",
            prefix: "/acme/",
            strip: true
        )
        for targets in [targets, nil] {
            // A tunnel carries no HTTP that `Connection: close` could apply to.
            let close = !answer.switchesToWebSocket
            let head = CallerResponse.head(of: answer, framing: framing, close: close, targets: targets)
            guard let read = Self.answer(Array(head.readableBytesView), to: method, limits: Self.roomy) else {
                throw Violation("what goes back is not taken: \(String(buffer: head))")
            }
            try require(read.bytes.readableBytes == head.readableBytes, "something behind the head")
            try require(read.status == answer.status, "another status")
            try require(read.describedLength == answer.describedLength, "another described length")
            let isWithout = read.status < 200 || read.status == 204 || read.status == 304 || method == .head
            try require(read.body == (isWithout ? .none : framing), "framed otherwise")
            try require(read.keepsAlive != close, "the end of the connection is not told")
            let fields = read.fields.map { NamedValue($0, in: read.bytes) }
            // 426 says what to ask for instead.
            let offered = answer.fields.filter { answer.status == 426 && $0.known == .upgrade }.prefix(1)
                .map { NamedValue($0, in: answer.bytes).value.text }
            try Self.checkConnection(
                fields,
                upgrades: answer.switchesToWebSocket,
                else: ["close"],
                offering: offered
            )
            try Self.compare(answer, read, isMapped: targets != nil)
        }
    }

    private static func compare(_ answer: ResponseHead, _ read: ResponseHead, isMapped: Bool) throws {
        let dropped =
            ["set-cookie", "alt-svc", "strict-transport-security", "public-key-pins"]
            + ["public-key-pins-report-only"]
        let own = answer.fields.map { NamedValue($0, in: answer.bytes) }.filter { field in
            !field.isStripped && !dropped.contains { field.isCalled($0) }
        }
        let arriving = read.fields.map { NamedValue($0, in: read.bytes) }.filter { field in
            !["content-length", "transfer-encoding", "connection", "upgrade"].contains { field.isCalled($0) }
        }
        try require(own.map(\.name) == arriving.map(\.name), "other fields go back")
        for (before, after) in zip(own, arriving) {
            try after.checkSyntax()
            let isTarget = ["location", "content-location", "operation-location", "link", "refresh"]
                .contains { before.isCalled($0) }
            guard before.value != after.value else { continue }
            try require(isMapped && isTarget, "\(before.name.text) is changed")
            try require(after.value.text.contains("/acme/"), "\(before.name.text) is mapped to somewhere else")
        }
    }

    private static func answer(_ bytes: [UInt8], to method: HTTPMethod, limits: HeadLimits) -> ResponseHead? {
        var parser = ResponseHeadParser(limits: limits)
        var buffer = ByteBuffer(bytes: bytes)
        return try? parser.next(&buffer, answering: method)
    }
}
