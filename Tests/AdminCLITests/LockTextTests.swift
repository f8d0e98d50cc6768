internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct LockTextTests {
    /// The current time is 2025-11-21T00:00:00Z.
    private let text = LockText(times: RelativeTime(now: Date(timeIntervalSince1970: 1_763_683_200)))

    private static func lock(_ members: String) throws -> LockReply {
        let all = """
            {"all_replicas":false,"complete":true,"kept":true,"lost_accounts":[],"open_accounts":[],"replicas":[],
            "state":"locked"}
            """
        var object = try #require(try JSONSerialization.jsonObject(with: Data(all.utf8)) as? [String: any Sendable])
        let changes = try JSONSerialization.jsonObject(with: Data("{\(members)}".utf8)) as? [String: any Sendable]
        object.merge(try #require(changes)) { _, changed in changed }
        return try AdminReply(httpStatus: 200, body: Array(try JSONSerialization.data(withJSONObject: object))).read()
    }

    @Test func `a lock is shown with why, since when, by whom and what opens it`() throws {
        let lock = try Self.lock(
            #""reason":"the host moves","since":"2025-11-20T23:59:00.000Z","by":"olga@127.0.0.1:1","needs":"passphrase""#
        )
        #expect(
            self.text.lines(lock) == [
                "state      locked: this process holds no key and no token",
                "reason     the host moves",
                "since      60 s ago (2025-11-20T23:59:00.000Z), by olga@127.0.0.1:1",
                "opened by  martlet unlock, which asks for the passphrase",
            ]
        )
    }

    @Test(arguments: [
        (#""state":"open""#, "state  open: callers are served"),
        (#""state":"unlocking""#, "state  unlocking: the gateway gets its keys and opens the store"),
        (#""state":"thawing""#, "state  thawing"),
        (#""needs":"key""#, "opened by  martlet unlock --key-file FILE"),
        (#""needs":"nothing""#, "opened by  martlet unlock"),
        (
            #""needs":"new_passphrase""#,
            "opened by  martlet unlock, which asks for a new passphrase: the store has none yet"
        ),
        (#""all_replicas":true"#, "for    all replicas of the store"),
        (#""kept":false"#, "kept   no: state_dir could not be written, so a restart may open it"),
        (
            #""waits_for":"the command pass: exit code 2: gpg: decryption failed""#,
            "waits for  the command pass: exit code 2: gpg: decryption failed"
        ),
        (
            #""replicas":[{"name":"b","state":"pending","until":"2025-11-21T00:00:05.000Z"},{"name":"c","state":"acknowledged"}]"#,
            "replica  b: pending, at the latest in 5 s"
        ),
    ])
    func `each fact of a lock has a line`(members: String, line: String) throws {
        #expect(self.text.lines(try Self.lock(members)).contains(line))
    }

    @Test(arguments: [
        (
            #""state":"locking","open_accounts":["alice","bob"]"#,
            "the lock is not complete: token requests of alice, bob are still open; martlet status shows how it goes on"
        ),
        (
            #""open_accounts":["alice"],"replicas":[{"name":"b","state":"pending"},{"name":"c","state":"gone"}]"#,
            "the lock is not complete: token requests of alice are still open, and b may still use tokens; martlet status "
                + "shows how it goes on"
        ),
        (
            #""state":"locking""#,
            "the lock is not complete: the gateway is locking; martlet status shows how it goes on"
        ),
    ])
    func `an incomplete lock names who it waits for`(members: String, obstacle: String) throws {
        #expect(LockText.obstacle(try Self.lock(members)) == obstacle)
    }

    @Test func `accounts that need approvals have a line each, with what helps those that wait`() throws {
        let reply = """
            [{"account":"payments-eu","until":"2025-11-21T00:15:00.000Z","waiting":false},
            {"account":"pay roll","until":null,"waiting":true},{"account":"ledger","until":null,"waiting":false}]
            """
        let approvals = try AdminReply(httpStatus: 200, body: Array(reply.utf8)).read([ApprovalReply].self)
        #expect(
            self.text.lines(approvals) == [
                "", "NEEDS APPROVAL  APPROVED UNTIL",
                "payments-eu     in 15 min (2025-11-21T00:15:00.000Z)",
                "pay roll        -                                     requests wait: martlet approve 'pay roll'",
                "ledger          -",
            ]
        )
        #expect(self.text.lines([]).isEmpty)
    }

    @Test func `orders have the form of the API`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        func text(_ body: some Encodable) throws -> String { String(decoding: try encoder.encode(body), as: UTF8.self) }
        #expect(
            try text(LockOrderBody(reason: "a", isForAllReplicas: true, isNow: false))
                == #"{"all_replicas":true,"now":false,"reason":"a"}"#
        )
        #expect(try text(UnlockBody()) == "{}")
        #expect(try text(UnlockBody(passphrase: "a\"b")) == #"{"passphrase":"a\"b"}"#)
        #expect(try text(UnlockBody(key: "a\n")) == #"{"key":"a\n"}"#)
    }
}
