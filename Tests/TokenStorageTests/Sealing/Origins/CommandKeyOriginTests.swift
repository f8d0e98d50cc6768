import Glibc
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Keys that a program prints. The programs are shell scripts, as a person would write them around a password manager.
struct CommandKeyOriginTests {
    private let directory: TemporaryDirectory
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let other = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

    init() throws { self.directory = try TemporaryDirectory() }

    /// An origin that runs a script, which knows the test's directory as `$HERE`.
    private func origin(
        _ script: String,
        _ arguments: String...,
        environment: [String: String] = [:],
        patience: Duration = .seconds(60)
    ) throws -> CommandKeyOrigin {
        // Named as the shell's argument: a process that is just being started by another test may still have the file open
        // for writing, and then the system does not run it.
        let path = try write("\(script)\n", to: self.directory.path(of: "pass"))
        var variables = ["PATH": "/usr/local/bin:/usr/bin:/bin", "HERE": self.directory.path]
        variables.merge(environment) { $1 }
        return CommandKeyOrigin(["/bin/sh", path] + arguments, environment: variables, patience: patience)
    }

    private func text(_ name: String) -> String {
        String(decoding: self.directory.bytes(of: name) ?? [], as: UTF8.self)
    }

    private func ring(_ origin: CommandKeyOrigin) async throws -> KeyRing? {
        try await origin.keys(offered: nil).existing()
    }

    private func ring(of key: String) throws -> KeyRing { try KeyRingText(Secret(key), name: "").parsed() }

    @Test(arguments: ["echo \(Self.key)", "printf %s \(Self.key)", "printf '%s\\r\\n' \(Self.key)"])
    func `the one line that a program prints is the key`(script: String) async throws {
        #expect(try await self.ring(self.origin(script)) == self.ring(of: Self.key))
    }

    @Test(arguments: [
        ("true", "has printed nothing"),
        ("echo", "has printed nothing"),
        ("echo \(Self.key); echo \(Self.other)", "has printed more than one line"),
        ("echo \(Self.key); echo login: me", "has printed more than one line"),
        ("echo; echo \(Self.key)", "has printed more than one line"),
        ("echo AAECAwQFBgcICQoLDA0ODw==", "not a key"),
        ("echo '#\(Self.key)'", "holds no key"),
        ("echo '%%ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='", "not a key"),
        ("echo \(Self.key)\(Self.key)", "not a key"),
        ("i=0; while [ $i -lt 300 ]; do printf AAECAwQFBgcICQoLDA0ODx; i=$((i+1)); done", "more than 4KiB"),
        ("while :; do echo AAECAwQFBgcICQoLDA0ODx; done", "more than 4KiB"),
    ])
    func `anything else is no key, and is not repeated`(script: String, reason: String) async throws {
        let origin = try self.origin(script)

        let error = await #expect(throws: KeyRingError(.malformed, "")) { _ = try await self.ring(origin) }

        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("ECAwQFBgcI") == false)
    }

    @Test(arguments: [
        ("exit 2", ": exit code 2"),
        ("echo 'gpg: decryption failed' >&2; echo second >&2; exit 2", ": exit code 2: gpg: decryption failed"),
        ("echo \(Self.key); exit 1", ": exit code 1"),
        ("printf 'a\\033[1m\\007b' >&2; exit 3", ": exit code 3: a?[1m?b"),
        ("kill -9 $$", ": it was ended by signal 9"),
        ("echo 'bad: \(Self.key)!' >&2; exit 4", ": exit code 4: bad: <redacted>!"),
        // In base64url without padding, the shortest text of a key.
        ("echo 'bad: \(Self.key.dropLast())!' >&2; exit 4", ": exit code 4: bad: <redacted>!"),
        (
            "printf 'bad: %s_%s-!' \(Self.key.prefix(20)) \(Self.key.prefix(21)) >&2; exit 4",
            ": exit code 4: bad: <redacted>!"
        ),
        (
            "{ printf %0190d 1 | tr 0 .; echo ' \(Self.key)'; } >&2; exit 5",
            ": exit code 5: \(String(repeating: ".", count: 189))1 <redacted"
        ),
        (
            "echo 123456789012345678901234567890123456789 >&2; exit 6",
            ": exit code 6: 123456789012345678901234567890123456789"
        ),
    ])
    func `a program that fails is quoted`(script: String, ending: String) async throws {
        let origin = try self.origin(script)

        let error = await #expect(throws: KeyRingError(.refused, "")) { _ = try await self.ring(origin) }

        #expect(error?.message == "the command /bin/sh\(ending)")
    }

    @Test func `no more than 200 characters are quoted, however much a program complains`() async throws {
        let origin = try self.origin(
            "i=0; while [ $i -lt 3000 ]; do printf 'no key 12345678901234567890' >&2; i=$((i+1)); done; exit 1"
        )

        let error = await #expect(throws: KeyRingError(.refused, "")) { _ = try await self.ring(origin) }

        let quoted = try #require(error?.message.split(separator: "exit code 1: ").last)
        #expect(quoted.count == 200)
    }

    @Test func `a program that is not there is named`() async throws {
        let origin = CommandKeyOrigin(["martlet-has-no-such-program", "show"])

        let error = await #expect(throws: KeyRingError(.refused, "")) { _ = try await self.ring(origin) }

        #expect(error?.message.contains("can't start martlet-has-no-such-program: No such file") == true)
    }

    @Test func `a program gets its words and variables as they are, no input, and no open files`() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let open = try #require(Self.target(ofDescriptor: ends[0]))
        let origin = try self.origin(
            """
            { printf '%s|' "$@"; echo; echo "$COLOUR"; pwd; cat; ls -l /proc/$$/fd; } > $HERE/seen
            output=$(readlink /proc/$$/fd/1); echo "$output" > $HERE/output
            echo \(Self.key)
            """,
            "show",
            "$(id);*",
            "",
            environment: ["COLOUR": "blue"]
        )

        #expect(try await self.ring(origin) != nil)

        let seen = self.text("seen")
        #expect(seen.hasPrefix("show|$(id);*||\nblue\n/\n"), "\(seen)")
        #expect(seen.contains("0 -> /dev/null"), "\(seen)")
        #expect(!seen.contains(open), "\(seen)")
        // Afterwards this process has closed its own end too.
        let output = self.text("output").trimmed
        #expect(output.hasPrefix("pipe:"))
        #expect(!Self.descriptors.contains(output))
    }

    @Test func `a program that hangs is killed with what it has started, and leaves no zombie`() async throws {
        let origin = try self.origin(
            "echo $$ > $HERE/one; sh -c 'echo $$ > $HERE/two; exec sleep 1000' & wait",
            patience: .seconds(5)
        )

        let error = await #expect(throws: KeyRingError(.refused, "")) { _ = try await self.ring(origin) }

        #expect(error?.message.hasSuffix("did not answer within 5 s") == true)
        #expect(Self.state(ofProcess: self.text("one").trimmed) == nil)
        let child = self.text("two").trimmed
        try #require(!child.isEmpty)
        // It is a child of nobody here; whoever takes it in may be slow to bury it.
        try await eventually("the end of what it has started") { [nil, "Z"].contains(Self.state(ofProcess: child)) }
    }

    @Test func `a program that hangs in another process group is killed too`() async throws {
        // A shell can't leave its group by itself.
        let origin = try self.origin(
            "exec perl -e 'setpgrp(0, getpgrp(getppid())); open(F, q(>), shift) && print(F $$) && close(F); sleep 1000' $HERE/one",
            patience: .seconds(5)
        )
        defer { _ = Int32(self.text("one").trimmed).map { kill($0, SIGKILL) } }

        let error = await #expect(throws: KeyRingError(.refused, "")) { _ = try await self.ring(origin) }

        #expect(error?.message.hasSuffix("did not answer within 5 s") == true)
        let process = self.text("one").trimmed
        try #require(!process.isEmpty)
        #expect(Self.state(ofProcess: process) == nil)
    }

    @Test func `a program that complains without end is killed in time`() async throws {
        let origin = try self.origin("while :; do echo no; done >&2", patience: .seconds(1))

        let error = await #expect(throws: KeyRingError(.refused, "")) { _ = try await self.ring(origin) }

        #expect(error?.message.hasSuffix("did not answer within 1 s") == true)
    }

    @Test func `a program that leaves something running in the background has answered when it ends`() async throws {
        let origin = try self.origin("sleep 1000 & echo $! > $HERE/one; echo \(Self.key)")
        defer { _ = Int32(self.text("one").trimmed).map { kill($0, SIGKILL) } }

        #expect(try await self.ring(origin) == self.ring(of: Self.key))
    }

    @Test func `a program is not waited for by whoever no longer wants the key`() async throws {
        let origin = try self.origin("echo > $HERE/one; exec sleep 1000", patience: .seconds(1_000))
        let asking = Task { try await origin.keys(offered: nil) }
        let directory = self.directory
        try await eventually("the start of the program") { directory.bytes(of: "one") != nil }

        asking.cancel()

        await #expect(throws: KeyRingError(.refused, "")) { _ = try await asking.value }
    }

    @Test func `a key that an operator gives is used without asking the program`() async throws {
        let origin = try self.origin("echo > $HERE/ran; exit 1")

        let keys = try await origin.keys(offered: .key(Secret("\(Self.key)\n\(Self.other)\n")))

        #expect(try keys.existing()?.ids.count == 2)
        #expect(self.directory.bytes(of: "ran") == nil)
    }

    @Test func `keys are got anew on demand, and stay if the program fails`() async throws {
        let origin = try self.origin("cat $HERE/key")
        try write("\(Self.key)\n", to: self.directory.path(of: "key"))
        let keys = try await origin.keys(offered: nil)
        let first = keys.revision

        try await origin.renew(keys)
        #expect(keys.revision == first)
        try write("\(Self.other)\n", to: self.directory.path(of: "key"))
        try await origin.renew(keys)
        #expect(try keys.existing() == self.ring(of: Self.other))
        #expect(keys.revision != first)
        try self.directory.remove("key")
        await #expect(throws: KeyRingError(.refused, "")) { try await origin.renew(keys) }
        #expect(try keys.existing() == self.ring(of: Self.other))
    }

    /// What a descriptor of this process leads to, such as `pipe:[17]`.
    private static func target(ofDescriptor number: CInt) -> String? {
        var target = [CChar](repeating: 0, count: 256)
        let count = unsafe readlink("/proc/self/fd/\(number)", &target, target.count)
        return count > 0 ? String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static var descriptors: [String] { (0..<4_096).compactMap { Self.target(ofDescriptor: $0) } }

    /// The letter of a process's state; `nil` if there is none.
    private static func state(ofProcess number: String) -> String? {
        guard let file = unsafe fopen("/proc/\(number)/stat", "r") else { return nil }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        guard unsafe fgets(&line, 512, file) != nil else { return nil }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.split(separator: ")").last?.split(separator: " ").first.map(String.init)
    }
}

extension String {
    fileprivate var trimmed: String { String(self.split(whereSeparator: \.isWhitespace).joined(separator: " ")) }
}
