import TestKit
import Testing
import TokenModel
import TokenStorage

struct AccountRecordEncodingTests {
    static let records: [AccountRecord] = {
        let full = AccountRecord.sample()
        var bare = full
        (bare.tokens, bare.claim, bare.failureRecord, bare.refreshedAt) = (nil, nil, nil, nil)
        var imported = full
        imported.tokens?.accessToken = nil
        imported.tokens?.refreshLifetime = nil
        imported.tokens?.scopes = []
        var minted = full
        minted.tokens?.refreshToken = nil
        minted.tokens?.accessToken = Secret((0...255).map { UInt8($0) })
        var extreme = full
        extreme.generation = Generation(.max)
        extreme.observedEpoch = Epoch(.max)
        extreme.refreshedAt = WallTime(millisecondsSince1970: .min)
        extreme.failureRecord?.tries = .max
        extreme.failureRecord?.spent = .no
        extreme.failureRecord?.dead = false
        extreme.failureRecord?.retryIn = .nanoseconds(Int64.max)
        extreme.claim?.standsFor = .nanoseconds(1)
        extreme.tokens?.lifetime = .zero
        extreme.tokens?.accessToken = Secret([])
        extreme.binding.clientID = ""
        var signedIn = full
        signedIn.observedEntry = KillID("entry-1")
        signedIn.subject = TokenDigest(ofSubject: "somebody", at: "https://login.acme.example")
        var large = full
        large.tokens?.refreshToken = Secret([UInt8](repeating: 0x72, count: 30_000))
        large.tokens?.scopes = (0..<500).map { "https://www.acme.example/auth/\($0)" }
        var member = signedIn
        member.imported = (0..<8).map { TokenDigest(of: Secret("rt-\($0)")) }
        var removed = member
        (removed.tokens, removed.isRemoved) = (nil, true)
        return [full, bare, imported, minted, extreme, signedIn, member, removed, large]
    }()

    @Test(arguments: records.indices)
    func `a record is decoded as it was encoded`(index: Int) throws {
        let record = Self.records[index]

        #expect(try AccountRecord(decoding: record.encoded()) == record)
    }

    @Test func `a record is encoded in the oldest layout that can hold it`() throws {
        var record = AccountRecord.sample()
        record.binding.issuer = .origin(record.binding.issuer.origin)
        var layouts: [UInt8] = []
        func note() throws {
            let bytes = record.encoded().copied()
            layouts.append(bytes[0])
            #expect(try AccountRecord(decoding: Secret(bytes)) == record)
        }
        record.subject = TokenDigest(ofSubject: "somebody", at: "https://login.acme.example")
        (record.imported, record.isRemoved) = ([TokenDigest(of: Secret("rt"))], true)
        try note()
        record.imported = []
        try note()
        record.isRemoved = false
        try note()
        record.observedEntry = KillID.random()
        try note()
        record.subject = nil
        try note()
        record.observedEntry = nil
        try note()
        record.acceptedProof = nil
        try note()
        record.formerProviders = []
        try note()
        record.killed = []
        try note()

        #expect(layouts == [6, 6, 5, 5, 4, 3, 3, 2, 1])
    }

    @Test func `only the last eight imported tokens are remembered, the latest last`() {
        var record = AccountRecord.sample()
        for number in 0..<10 { record.rememberImport(of: Secret("rt-\(number)")) }
        record.rememberImport(of: Secret("rt-5"))
        #expect(record.imported == [2, 3, 4, 6, 7, 8, 9, 5].map { TokenDigest(of: Secret("rt-\($0)")) })
        #expect([0, 1, 2, 5, 9].map { record.hasImported(Secret("rt-\($0)")) } == [false, false, true, true, true])
    }

    @Test func `a record that replaces another one remembers its imports too`() {
        var record = AccountRecord.sample()
        let other = record
        var old = other
        for number in 0..<3 { old.rememberImport(of: Secret("rt-\(number)")) }
        record.rememberImport(of: Secret("rt-1"))
        record.keepHistory(of: old)
        #expect((0..<3).map { record.hasImported(Secret("rt-\($0)")) } == [true, true, true])
        record.keepHistory(of: other)
        #expect(record.imported.count == 3)
    }

    @Test func `a subject is known by its issuer too, and stored as a digest`() throws {
        let subject = TokenDigest(ofSubject: "somebody", at: "https://login.acme.example")
        #expect(subject == TokenDigest(ofSubject: "somebody", at: "https://login.acme.example"))
        #expect(subject != TokenDigest(ofSubject: "somebody", at: "https://login.other.example"))
        #expect(subject != TokenDigest(ofSubject: "somebody else", at: "https://login.acme.example"))
        // No issuer has a zero byte, so no other pair has the same text.
        #expect(subject != TokenDigest(of: Secret("https://login.acme.examplesomebody")))
        #expect(subject.rawValue.utf8.count == 64)
    }

    @Test(arguments: [
        TokenIssuer.tokenEndpoint("https://login.acme.example:443/realms/a/token?key=k"),
        .issuer("https://login.acme.example:443/realms/a", tokenEndpoint: nil),
        .issuer("https://login.acme.example:443", tokenEndpoint: "https://tokens.example:8443/a"),
        .origin("https://login.acme.example:443"),
    ])
    func `a record keeps its token issuer, even after a replica of an earlier version rewrites it`(
        issuer: TokenIssuer
    ) throws {
        // Given a record, and the same record as an older version reads it, which knows only origins and former
        // providers
        var record = AccountRecord.sample()
        record.binding.issuer = issuer
        var older = record
        older.binding.issuer = .origin("https://login.acme.example:443")
        older.formerProviders = (issuer.tokenVersion.map { [ProviderID($0)] } ?? []) + record.formerProviders

        // Then both encode to the same bytes
        #expect(older.encoded() == record.encoded())
        #expect(try AccountRecord(decoding: record.encoded()) == record)

        // And a record that the older version rewrites keeps the issuer, unless an operator assigns it to another
        // origin there
        older.generation = older.generation.next
        older.formerProviders.append(ProviderID("before"))
        let rewritten = try AccountRecord(decoding: older.encoded())
        #expect(rewritten.binding.issuer == issuer)
        #expect(rewritten.formerProviders == record.formerProviders + [ProviderID("before")])
        older.binding.issuer = .origin("https://other.example:443")
        #expect(try AccountRecord(decoding: older.encoded()).binding.issuer == .origin("https://other.example:443"))
    }

    @Test(arguments: records.indices.dropLast())
    func `truncated or extended bytes are not a valid record`(index: Int) {
        let bytes = Self.records[index].encoded().copied()
        for count in bytes.indices {
            #expect(throws: StoreError(.unreadable, ""), "the first \(count) of \(bytes.count) bytes") {
                try AccountRecord(decoding: Secret(bytes.prefix(count)))
            }
        }
        #expect(throws: StoreError(.unreadable, "")) { try AccountRecord(decoding: Secret(bytes + [0])) }
    }

    @Test func `a changed byte yields an error or a record that encodes to the same bytes`() throws {
        let bytes = AccountRecord.sample().encoded().copied()
        for index in bytes.indices {
            for value in [0x00, 0x01, 0x7F, 0x80, 0xFF, bytes[index] ^ 1] as [UInt8] {
                var changed = bytes
                changed[index] = value
                guard let record = try? AccountRecord(decoding: Secret(changed)) else { continue }
                #expect(record.encoded().copied() == changed, "byte \(index) set to \(value)")
            }
        }
    }

    @Test func `random bytes cause nothing worse than an error`() {
        var generator = SeededGenerator(seed: 7)
        let bytes = AccountRecord.sample().encoded().copied()
        for _ in 0..<5_000 {
            var mangled = bytes
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let index = Int.random(in: mangled.indices, using: &generator)
                mangled[index] = UInt8.random(in: .min ... .max, using: &generator)
            }
            mangled.removeLast(Int.random(in: 0..<bytes.count, using: &generator) / 8)
            do {
                _ = try AccountRecord(decoding: Secret(mangled))
            } catch {
                #expect(error == StoreError(.unreadable, ""))
            }
        }
    }

    @Test func `the error for a layout of a newer Martlet names the layout`() {
        var bytes = AccountRecord.sample().encoded().copied()
        bytes[0] = 7

        let error = #expect(throws: StoreError(.unreadable, "")) { try AccountRecord(decoding: Secret(bytes)) }

        #expect(error?.message.contains("layout 7") == true)
    }

    @Test func `a list whose length exceeds its bytes is refused before memory is allocated for it`() throws {
        let writer = FieldWriter(format: 1)
        writer.write(UInt32.max)
        var reader = try FieldReader(writer.finish(), formats: 1...1)

        #expect(throws: StoreError(.unreadable, "")) {
            try reader.readArray { reader throws(StoreError) in try reader.read(UInt8.self) }
        }
    }

    @Test(arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0x61, 0xE2, 0x82]] as [[UInt8]])
    func `text that is not UTF-8 is refused`(text: [UInt8]) throws {
        let writer = FieldWriter(format: 1)
        writer.write(Secret(text))
        var reader = try FieldReader(writer.finish(), formats: 1...1)

        #expect(throws: StoreError(.unreadable, "")) { try reader.read(String.self) }
    }
}

extension Secret {
    fileprivate func copied() -> [UInt8] {
        self.withUnredacted { span in span.indices.map { span[$0] } }
    }
}
