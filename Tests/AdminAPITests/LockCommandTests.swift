internal import AdminAPI
internal import KillSwitch
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

/// `martlet lock`, `martlet unlock` and `martlet approve`, and what other commands say of a locked gateway.
@Suite struct LockCommandTests {
    private static let alice = AccountID("alice")
    private static let closed = LockStatus(.locked, reason: "drill", needs: .passphrase)

    /// Runs the program against the gateway.
    private static func run(
        _ admin: AdminFixture,
        _ arguments: String...,
        input: String = ""
    ) async throws -> Program.Outcome {
        let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
        return try await program.run(arguments + ["--admin", admin.caller.base], input: input)
    }

    @Test func `a lock without open token requests is complete at once`() async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(LockStatus(.locked, reason: "drill", needs: .nothing))
            let outcome = try await Self.run(admin, "lock", "--reason", "drill")
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("state      locked: this process holds no key and no token\n"))
            #expect(admin.lock.orders == [LockOrder(reason: "drill")])
        }
    }

    @Test func `options of a lock are part of the order`() async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(LockStatus(.locked, lostAccounts: [Self.alice]))
            let outcome = try await Self.run(admin, "lock", "--reason", "drill", "--all-replicas", "--now")
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("lost   alice: token requests were given up"))
            #expect(admin.lock.orders == [LockOrder(reason: "drill", isForAllReplicas: true, isNow: true)])
        }
    }

    @Test(arguments: [("0s", 1), ("60s", 0)])
    func `a lock waits as long as it is told for open token requests`(wait: String, status: Int32) async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(LockStatus(.locking, openAccounts: [Self.alice]), later: LockStatus(.locked))
            let outcome = try await Self.run(admin, "lock", "--reason", "drill", "--wait", wait)
            #expect(outcome.status == status)
            let isPending = status == 1
            #expect(outcome.output.contains("waiting  alice: their token requests are still open\n") == isPending)
            #expect(outcome.complaint.contains("token requests of alice are still open; martlet status") == isPending)
        }
    }

    @Test(arguments: [["lock"], ["lock", "--reason", " "], ["lock", "--reason", "a", "--wait", "1h"], ["approve"]])
    func `an incomplete order is refused before anything is sent`(arguments: [String]) async throws {
        try await AdminFixture.run { admin in
            let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
            let outcome = try await program.run(arguments + ["--admin", admin.caller.base])
            #expect(outcome.status == 64)
            #expect(admin.lock.actors.isEmpty)
        }
    }

    @Test(arguments: ["correct horse canary\nanother line\n", "correct horse canary"])
    func `a passphrase that is piped in is the first line`(input: String) async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(Self.closed)
            let outcome = try await Self.run(admin, "unlock", input: input)
            #expect(outcome.status == 1)
            guard case .passphrase(let passphrase)?? = admin.lock.offers.first else {
                Issue.record("no passphrase came")
                return
            }
            #expect(passphrase == Secret("correct horse canary"))
            #expect(!"\(outcome)".contains(AdminFixture.canary))
        }
    }

    @Test func `given an open gateway, nothing is asked and nothing is sent`() async throws {
        try await AdminFixture.run { admin in
            let outcome = try await Self.run(admin, "unlock")
            #expect(outcome.status == 0)
            #expect(outcome.output == "the gateway is open\n")
            #expect(admin.lock.offers.isEmpty)
        }
    }

    @Test func `a key file is given in place of what the gateway would ask for`() async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(Self.closed)
            let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
            let file = try program.file("key", "canary=\nolder=\n")
            let outcome = try await program.run("unlock", "--key-file", file, "--admin", admin.caller.base)
            #expect(outcome.status == 1)
            guard case .key(let key)?? = admin.lock.offers.first else {
                Issue.record("no key came")
                return
            }
            #expect(key == Secret("canary=\nolder="))
        }
    }

    @Test(
        arguments: [
            (LockStatus(.locked, needs: .passphrase), "standard input holds no passphrase", 64),
            (LockStatus(.locked, needs: .key), "give it one with --key-file FILE", 64),
            (LockStatus(.locked, needs: .nothing), "the gateway is not open yet", 1),
        ] as [(LockStatus, String, Int32)]
    )
    func `an unlock that can't open says what is missing`(
        lock: LockStatus,
        complaint: String,
        status: Int32
    ) async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(lock)
            let outcome = try await Self.run(admin, "unlock")
            #expect(outcome.status == status)
            #expect(outcome.complaint.contains(complaint), "\(outcome.complaint)")
            #expect(admin.lock.offers.count == (status == 1 ? 1 : 0))
        }
    }

    @Test(arguments: [
        LockError.Code.wrongPassphrase, .wrongKey, .tooManyAttempts, .keyUnavailable, .storeRefused, .busy,
    ])
    func `an unlock that is refused exits with 1 and the gateway's words alone`(code: LockError.Code) async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(Self.closed)
            admin.lock.fail(LockError(code, "that failed"))
            let outcome = try await Self.run(admin, "unlock", input: "canary\n")
            #expect(outcome.status == 1)
            #expect(outcome.complaint == "martlet: can't unlock the gateway: that failed\n")
        }
    }

    @Test func `a new passphrase that is too short is the user's fault`() async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(LockStatus(.locked, needs: .newPassphrase))
            admin.lock.fail(LockError(.passphraseTooShort, "that is short"))
            let outcome = try await Self.run(admin, "unlock", input: "canary\n")
            #expect(outcome.status == 64)
            #expect(outcome.complaint == "martlet: can't unlock the gateway: that is short\n")
        }
    }

    @Test func `given a lock, health says so, and a live gateway is alive`() async throws {
        try await AdminFixture.run { admin in
            admin.close(Self.closed)
            let health = try await Self.run(admin, "health")
            #expect(health.status == 1)
            #expect(health.complaint.contains("the gateway is not ready: it is locked"))
            let live = try await Self.run(admin, "health", "--live")
            #expect(live.status == 0)
            #expect(live.output == "alive\n")
        }
    }

    @Test func `a gateway that is not there is not alive`() async throws {
        let base = try await AdminFixture.address { _ in }
        let outcome = try await Program().run("health", "--live", "--admin", base)
        #expect(outcome.status == 69)
    }

    @Test func `given a lock, status shows it in place of accounts`() async throws {
        try await AdminFixture.run { admin in
            admin.close(Self.closed)
            let outcome = try await Self.run(admin, "status")
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("martlet    1.2.3, not ready, locked\n"))
            #expect(outcome.output.contains("lock       locked: this process holds no key and no token\n"))
            #expect(outcome.output.contains("opened by  martlet unlock, which asks for the passphrase\n"))
            #expect(!outcome.output.contains("accounts"))
        }
    }

    @Test func `given a lock, other commands say that it is locked`() async throws {
        try await AdminFixture.run { admin in
            admin.close()
            for command in [["accounts", "list"], ["kills"], ["replicas"], ["approve", "alice"]] {
                let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
                let outcome = try await program.run(command + ["--admin", admin.caller.base])
                #expect(outcome.status == 1)
                #expect(outcome.complaint.contains("the gateway is locked"), "\(outcome.complaint)")
            }
        }
    }

    @Test func `given a lock, a kill is pending and names who can do it now`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let scope = KillScope.account(Self.alice)
            var report = try await admin.kills.kill(scope, reason: "drill", streams: .abort, wait: .zero, by: nil)
            (report.store, report.replicas, report.canDoItNow) = (.locked, [], ["web-2", "web-3"])
            admin.lock.report(report)
            admin.close()
            let outcome = try await Self.run(admin, "kill", "--account", "alice", "--reason", "drill")
            admin.store.recover()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("pending: this gateway is locked; it keeps the kill"))
            #expect(outcome.output.contains("web-2, web-3 may use these tokens: give the kill to one of them"))
            #expect(outcome.complaint.contains("until martlet unlock, and web-2, web-3 may still send these tokens"))
            #expect(!outcome.complaint.contains("audit log"))
        }
    }

    @Test func `an approval says until when it holds, and status lists the accounts that need one`() async throws {
        try await AdminFixture.run { admin in
            let outcome = try await Self.run(admin, "approve", "alice")
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("alice may be used until "))
            #expect(outcome.output.hasSuffix("(2025-11-21T00:15:00.123Z)\n"))
            let status = try await Self.run(admin, "status")
            #expect(status.output.contains("bob             -"))
            #expect(status.output.contains("requests wait: martlet approve bob"))
        }
    }
}
