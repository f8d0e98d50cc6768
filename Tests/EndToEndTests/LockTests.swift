import Synchronization
import TestKit
import Testing

/// Locks and unlocks, tested with real processes.
@Suite struct LockTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func status(_ gateway: Gateway) async throws -> String {
        try await gateway.curl("echo", ["-o", "/dev/null", "-w", "%{http_code}"])
    }

    @Test func `a locked gateway serves nobody, and everybody after the unlock, without a token request`() async throws
    {
        let mock = try await Mock("--rotate", "--reuse-detection", in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try await gateway.importGrant(from: mock)
        #expect(try await self.status(gateway) == "200")
        let before = try await mock.stats()

        let lock = try await gateway.martlet("lock", "--reason", "drill")

        #expect(lock.exitCode == 0, "\(lock.errors)")
        #expect(try await gateway.curl("echo").contains("urn:martlet:error:locked"))
        #expect(try await gateway.martlet("health").exitCode == 1)
        #expect(try await gateway.martlet("health", "--live").exitCode == 0)
        #expect(try await gateway.martlet("accounts", "list").exitCode == 1)
        let unlock = try await gateway.martlet("unlock")
        #expect(unlock.exitCode == 0, "\(unlock.errors)")
        #expect(try await self.status(gateway) == "200")
        #expect(try await mock.stats().token_requests.ok == before.token_requests.ok)
        let audit = try await gateway.martlet("audit")
        #expect(audit.output.contains(" lock ") && audit.output.contains(" unlock "), "\(audit.output)")
    }

    @Test(arguments: [15, 9])
    func `a restart does not unlock`(signal: Int32) async throws {
        let mock = try await Mock(in: self.directory)
        let first = try await Gateway(mock, in: self.directory)
        try await first.importGrant(from: mock)
        #expect(try await first.martlet("lock", "--reason", "drill").exitCode == 0)
        first.program.signal(signal)
        _ = try await first.program.ended()

        let second = try await Gateway(mock, in: self.directory)

        #expect(try await self.status(second) == "503")
        #expect(try await second.martlet("status").output.contains("drill"))
        #expect(try await second.reload().contains("nothing is different"))
        #expect(try await self.status(second) == "503")
        #expect(try await second.martlet("unlock").exitCode == 0)
        #expect(try await self.status(second) == "200")
    }

    /// Waits until a gateway has given everything up.
    private func expectLock(of gateway: Gateway) async throws {
        let answer = Mutex("none")
        do {
            try await eventually("the lock to be complete") {
                let said = try await gateway.martlet("status")
                answer.withLock { $0 = "\(said)" }
                return said.output.contains("holds no key and no token")
            }
        } catch {
            Issue.record("the last status: \(answer.withLock { $0 }), the log: \(gateway.program.complaints)")
            throw error
        }
    }

    @Test func `a lock waits for an open token request, and keeps its tokens`() async throws {
        let mock = try await Mock("--rotate", "--reuse-detection", in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try await gateway.importGrant(from: mock)
        try await mock.expire()
        try await mock.setFaults(#"[{"on": "token", "delay_answer": "12s"}]"#)
        async let caller = gateway.curl("echo")
        try await eventually("the token request") { try await mock.stats().token_requests.ok == 1 }

        let lock = try await gateway.martlet("lock", "--reason", "drill")

        #expect(lock.exitCode == 1)
        #expect(lock.output.contains("alice"), "\(lock.output)")
        #expect(try await caller.contains("urn:martlet:error:locked"))
        try await self.expectLock(of: gateway)
        #expect(try await gateway.martlet("unlock").exitCode == 0)
        #expect(try await self.status(gateway) == "200")
        #expect(try await mock.stats().token_requests.ok == 1)
        #expect(try await mock.stats().reuse_detections == 0)
    }

    @Test func `a lock at once names the account whose token request it gives up`() async throws {
        let mock = try await Mock("--rotate", "--reuse-detection", in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try await gateway.importGrant(from: mock)
        try await mock.expire()
        try await mock.setFaults(#"[{"on": "token", "delay_answer": "30s"}]"#)
        async let caller = gateway.curl("echo")
        try await eventually("the token request") { try await mock.stats().token_requests.ok == 1 }

        let lock = try await gateway.martlet("lock", "--now", "--reason", "drill")

        #expect(lock.output.contains("alice"), "\(lock.output)")
        #expect(try await caller.contains("urn:martlet:error:locked"))
        try await self.expectLock(of: gateway)
    }

    @Test func `a lock at once gives up an open revocation, and the gateway goes on`() async throws {
        let mock = try await Mock("--rotate", "--reuse-detection", in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try await gateway.importGrant(from: mock)
        try await mock.setFaults(#"[{"on": "revoke", "delay_answer": "30s"}]"#)
        #expect(try await gateway.martlet("kill", "--all", "--reason", "stolen").exitCode == 0)
        try await eventually("the revocation") { try await mock.stats().live["alice"]?.refresh == 0 }

        let lock = try await gateway.martlet("lock", "--now", "--reason", "drill")

        #expect(lock.exitCode == 0, "\(lock)")
        try await self.expectLock(of: gateway)
        #expect(try await self.status(gateway) == "503")
        #expect(try await gateway.martlet("unlock").exitCode == 0)
        #expect(try await gateway.curl("echo").contains("urn:martlet:error:killed"))
    }

    @Test func `wrong keys are counted, and after a few the next one has to wait`() async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        #expect(try await gateway.martlet("lock", "--reason", "drill").exitCode == 0)
        let key = String(repeating: "A", count: 43) + "=\n"
        try self.directory.write(Array(key.utf8), to: "wrong.key")
        try self.directory.setMode(0o600, of: "wrong.key")

        // The pause doubles with each try, so that a slow machine gets into one too
        var refusals: [String] = []
        while refusals.count < 12, refusals.last?.contains("too many wrong") != true {
            let unlock = try await gateway.martlet("unlock", "--key-file", self.directory.path(of: "wrong.key"))
            #expect(unlock.exitCode != 0)
            refusals.append(unlock.errors)
        }

        #expect(refusals.count > 5)
        #expect(refusals.last?.contains("too many wrong") == true, "\(refusals)")
        #expect(try await gateway.curl("echo").contains("urn:martlet:error:locked"))
        withExtendedLifetime(mock) {}
    }

    @Test func `a lock that is ordered while the gateway opens keeps it locked`() async throws {
        // Given a gateway that gets its key only once a file is there
        let (key, go) = (String(repeating: "A", count: 43) + "=", self.directory.path(of: "go"))
        let script = "while [ ! -e '\(go)' ]; do sleep 0.05; done; echo \(key)\n"
        let path = try TestKit.write(script, to: self.directory.path(of: "key.sh"))
        try self.directory.write([], to: "go")
        let mock = try await Mock(in: self.directory)
        let more = "store: { sealing_key: { command: [sh, \"\(path)\"] } }"
        let gateway = try await Gateway(mock, in: self.directory, more: more)
        #expect(try await gateway.martlet("lock", "--reason", "drill").exitCode == 0)
        try self.directory.remove("go")
        async let unlock = gateway.martlet("unlock")
        try await eventually("the gateway to open") { try await gateway.martlet("status").output.contains("unlocking") }

        // When it is told to lock meanwhile
        async let lock = gateway.martlet("lock", "--reason", "stop")
        try await eventually("the order to be noted") {
            self.directory.bytes(of: "state/locked-orders/note-\(String(repeating: "0", count: 19))1") != nil
        }
        try self.directory.write([], to: "go")

        // Then it does not open
        #expect(try await unlock.exitCode != 0)
        _ = try await lock
        #expect(try await gateway.curl("echo").contains("urn:martlet:error:locked"))
        #expect(try await gateway.martlet("unlock").exitCode == 0)
        withExtendedLifetime(mock) {}
    }

    @Test func `a kill given to a locked gateway holds after the unlock`() async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.martlet("lock", "--reason", "drill").exitCode == 0)

        let kill = try await gateway.martlet("kill", "--all", "--reason", "stolen")

        #expect(kill.exitCode == 1)
        #expect(kill.output.contains("pending"))
        #expect(try await gateway.martlet("unlock").exitCode == 0)
        #expect(try await gateway.curl("echo").contains("urn:martlet:error:killed"))
        try await eventually("the audit log to have the kill") {
            try await gateway.martlet("audit").output.contains("stolen")
        }
    }
}
