import Glibc
import TestKit
import Testing
import TokenStorage

struct KeyRingFileTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let file: KeyRingFile

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path(of: "sealing.key")
        self.file = KeyRingFile(path: self.path, isMadeWhenMissing: true)
    }

    @Test func `a missing file yields no keys`() throws {
        #expect(try self.file.existing() == nil)
    }

    @Test func `a new file has one key, for its owner only, and no other files are made`() throws {
        let made = try self.file.make()

        #expect(try self.file.existing()?.current == made.current)
        #expect(made.retired.isEmpty)
        #expect(try self.directory.mode(of: "sealing.key") == 0o600)
        #expect(try self.directory.contents() == ["sealing.key"])
    }

    @Test func `an existing file is kept`() throws {
        let first = try self.file.make()

        #expect(try self.file.make().current == first.current)
    }

    @Test func `concurrent makers of a file get the same key`() async throws {
        let keys = try await withThrowingTaskGroup { group in
            for _ in 0..<32 { group.addTask { try self.file.make().current.id } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }

        #expect(keys.count == 1)
        #expect(try self.directory.contents() == ["sealing.key"])
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o660])
    func `a file that others can read or write is refused`(mode: Int) throws {
        _ = try self.file.make()
        try self.directory.setMode(mode, of: "sealing.key")

        let error = #expect(throws: KeyRingError(.exposed, "")) { try self.file.existing() }

        #expect(error?.message.contains("\(self.path) can be read or written by others") == true)
    }

    @Test(
        .enabled("needs root, to give a file away") { geteuid() == 0 },
        arguments: [("", "Martlet makes it by itself"), ("/state", "this process can write it too")]
    )
    func `another user's file is refused, whether or not it is under the state directory`(
        state: String,
        reason: String
    ) throws {
        _ = try self.file.make()
        let given = unsafe chown(self.path, 1000, 1000)
        try #require(given == 0)
        let file = KeyRingFile(
            path: self.path,
            isMadeWhenMissing: true,
            stateDirectory: self.directory.path + state
        )

        let error = #expect(throws: KeyRingError(.exposed, "")) { try file.existing() }

        #expect(error?.message.contains(reason) == true)
    }

    @Test(arguments: [0o600, 0o400, 0o700, 0o611])
    func `a file that only its owner can read is accepted`(mode: Int) throws {
        _ = try self.file.make()
        try self.directory.setMode(mode, of: "sealing.key")

        #expect(try self.file.existing() != nil)
    }

    @Test func `a directory or a pipe is refused as a key file`() throws {
        let directory = KeyRingFile(path: self.directory.path, isMadeWhenMissing: true)
        #expect(throws: KeyRingError(.inaccessible, "")) { try directory.existing() }

        try self.directory.makePipe("sealing.key")
        #expect(throws: KeyRingError(.inaccessible, "")) { try self.file.existing() }
    }

    @Test func `a file too large for keys is refused`() throws {
        try self.directory.write([UInt8](repeating: 0x23, count: 100_000), to: "sealing.key")
        try self.directory.setMode(0o600, of: "sealing.key")

        #expect(throws: KeyRingError(.malformed, "")) { try self.file.existing() }
    }

    @Test func `a key that must be provided is not made, and the message says how to make it`() throws {
        let given = KeyRingFile(path: self.path, isMadeWhenMissing: false)

        let error = #expect(throws: KeyRingError(.missing, "")) { try given.make() }

        #expect(error?.message.contains("openssl rand -base64 32 > \(self.path)") == true)
        #expect(try self.directory.contents() == [])
    }

    @Test func `the message for a missing directory names it`() {
        let path = self.directory.path(of: "missing/sealing.key")

        let error = #expect(throws: KeyRingError(.inaccessible, "")) {
            try KeyRingFile(path: path, isMadeWhenMissing: true).make()
        }

        #expect(error?.message.contains(path) == true)
        #expect(error?.message.contains("No such file or directory") == true)
    }
}
