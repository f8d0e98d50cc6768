import FoundationEssentials
import Glibc
import SystemSupport
import TestKit
import Testing
import TokenModel

@Suite struct SecretFileTests {
    @Test(arguments: [
        // Owned or writable by this process, which could correct the mode.
        (FileOwnership(owner: 1000, mode: 0o600), UInt32(1000), WriteAccess.allowed, false),
        (FileOwnership(owner: 1000, mode: 0o640), 1000, .allowed, true),
        (FileOwnership(owner: 1000, mode: 0o604), 1000, .allowed, true),
        (FileOwnership(owner: 1000, mode: 0o444), 1000, .denied, true),
        (FileOwnership(owner: 1000, mode: 0o400), 1000, .denied, false),
        (FileOwnership(owner: 0, mode: 0o666), 1000, .allowed, true),
        (FileOwnership(owner: 0, mode: 0o644), 0, .allowed, true),
        (FileOwnership(owner: 0, mode: 0o600), 0, .allowed, false),
        // Mounted by root: any mode is accepted.
        (FileOwnership(owner: 0, mode: 0o444), 1000, .denied, false),
        (FileOwnership(owner: 0, mode: 0o644), 1000, .denied, false),
        (FileOwnership(owner: 0, mode: 0o444), 0, .readOnlyFilesystem, false),
        // Mounted by another user: refused if anyone except that user can change the file.
        (FileOwnership(owner: 1000, mode: 0o644), 10_001, .denied, false),
        (FileOwnership(owner: 1000, mode: 0o644), 10_001, .readOnlyFilesystem, false),
        (FileOwnership(owner: 1000, mode: 0o644), 0, .readOnlyFilesystem, false),
        (FileOwnership(owner: 1000, mode: 0o440), 10_001, .denied, false),
        (FileOwnership(owner: 1000, mode: 0o664), 10_001, .denied, true),
        (FileOwnership(owner: 1000, mode: 0o646), 10_001, .readOnlyFilesystem, true),
        (FileOwnership(owner: 1000, mode: 0o600), 10_001, .allowed, true),
        (FileOwnership(owner: 1000, mode: 0o600), 0, .allowed, true),
    ])
    func `a secret that others can read is refused if this user could have restricted it`(
        file: FileOwnership,
        user: UInt32,
        access: WriteAccess,
        isExposed: Bool
    ) {
        #expect(file.isExposed(to: user, access: access) == isExposed)
    }

    @Test(arguments: [WriteAccess.allowed, .denied, .readOnlyFilesystem])
    func `a file that Martlet makes itself is accepted from root, but not from another user`(access: WriteAccess) {
        let foreign = FileOwnership(owner: 1000, mode: 0o600)
        #expect(foreign.isExposed(to: 10_001, access: access, mayBelongToOthers: false))
        #expect(foreign.isExposed(to: 0, access: access, mayBelongToOthers: false))
        #expect(!foreign.isExposed(to: 1000, access: access, mayBelongToOthers: false))
        let root = FileOwnership(owner: 0, mode: 0o600)
        #expect(!root.isExposed(to: 10_001, access: access, mayBelongToOthers: false))
    }

    @Test func `a file is outside a directory if neither its path nor a link leads into it`() throws {
        try inTemporaryDirectory { directory in
            let state = directory + "/state"
            try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: state)
            #expect(!SecretFile.isOutside(state + "/admin.token", of: state))
            #expect(!SecretFile.isOutside(state + "/below/admin.token", of: state + "/"))
            #expect(!SecretFile.isOutside(directory + "/link/admin.token", of: state))
            #expect(!SecretFile.isOutside(state + "/admin.token", of: directory + "/link"))
            #expect(SecretFile.isOutside(directory + "/admin.token", of: state))
            #expect(SecretFile.isOutside(state + "-other/admin.token", of: state))
            #expect(SecretFile.isOutside("/run/secrets/admin.token", of: directory + "/none"))
        }
    }

    @Test(
        .enabled("needs root, to give a file away") { geteuid() == 0 },
        arguments: [
            (0o644, true, "belongs to user 1000, and this process can write it too (mode 0644, owner 1000"),
            (0o664, true, "belongs to another user, and more than that one can write it (mode 0664, owner 1000"),
            (0o600, false, "belongs to another user, and Martlet makes it by itself (mode 0600, owner 1000"),
        ]
    )
    func `the error for another user's file has a reason`(mode: Int, mayBelongToOthers: Bool, reason: String) throws {
        try inTemporaryDirectory { directory in
            let path = try write("canary", to: directory + "/secret", mode: mode)
            let given = unsafe chown(path, 1000, 1000)
            try #require(given == 0)
            let error = #expect(throws: FileError(.exposed, "")) {
                try SecretFile.contents(of: path, mayBelongToOthers: mayBelongToOthers)
            }
            #expect(error?.message.hasPrefix(reason) == true)
            #expect(error?.message.contains("go-w") == (mode == 0o664))
        }
    }

    @Test(arguments: [
        ("canary", "canary"), ("canary\n", "canary"), ("canary\r\n", "canary"), (" ca nary \n", " ca nary "),
    ])
    func `a secret ends before its last newline`(content: String, secret: String) throws {
        try inTemporaryDirectory { directory in
            let path = try write(content, to: directory + "/secret", mode: 0o600)
            #expect(try SecretFile.read(path) == Secret(secret))
        }
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o644, 0o666])
    func `a file of this user that others can access is refused, and the error names chmod`(mode: Int) throws {
        try inTemporaryDirectory { directory in
            let path = try write("canary", to: directory + "/secret", mode: mode)
            do throws(FileError) {
                _ = try SecretFile.read(path)
                Issue.record("the secret was taken")
            } catch {
                #expect(error.code == .exposed)
                #expect(
                    error.message
                        == "can be read or written by others (mode 0\(String(mode, radix: 8)), owner \(geteuid()), "
                        + "and this process is user \(geteuid())); run chmod 600 on it"
                )
            }
        }
    }

    @Test(arguments: [
        // Another user's file: this process is responsible for it only if it could correct the mode.
        (FileOwnership(owner: 999, mode: 0o600), UInt32(0), WriteAccess.allowed, false),
        (FileOwnership(owner: 999, mode: 0o644), 0, .allowed, true),
        (FileOwnership(owner: 999, mode: 0o640), 1000, .denied, false),
        (FileOwnership(owner: 999, mode: 0o666), 1000, .allowed, true),
        (FileOwnership(owner: 1000, mode: 0o440), 1000, .denied, true),
        (FileOwnership(owner: 1000, mode: 0o400), 1000, .denied, false),
    ])
    func `a process that shows a secret is responsible for its mode if it could correct the mode`(
        file: FileOwnership,
        user: UInt32,
        access: WriteAccess,
        isLeftOpen: Bool
    ) {
        #expect(file.isLeftOpen(by: user, access: access) == isLeftOpen)
    }

    @Test func `the mode of a file is checked, and a path without a file is accepted`() throws {
        try inTemporaryDirectory { directory in
            let open = try write("canary", to: directory + "/open", mode: 0o644)
            let closed = try write("canary", to: directory + "/closed", mode: 0o600)
            #expect(throws: FileError(.exposed, "")) { try SecretFile.checkMode(of: open) }
            try SecretFile.checkMode(of: closed)
            try SecretFile.checkMode(of: directory + "/none")
            try SecretFile.checkMode(of: "/dev/null")
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `the message about another user's file names its owner, its mode and this process's user`() throws {
        try inTemporaryDirectory { directory in
            let path = try write("canary", to: directory + "/secret", mode: 0o644)
            #expect(SecretFile.concern(about: path) == nil)
            #expect(SecretFile.concern(about: directory + "/none") == nil)
            let given = unsafe chown(path, 1000, 1000)
            #expect(given == 0)
            let found = "(mode 0644, owner 1000, and this process is user 0)"
            #expect(SecretFile.concern(about: path)?.contains(found) == true)
            // Root could write the file.
            let error = #expect(throws: FileError(.exposed, "")) { try SecretFile.read(path) }
            #expect(error?.message.contains(found) == true)
            #expect(error?.message.contains("--user 1000") == true)
        }
    }

    @Test func `a link is followed to its file`() throws {
        try inTemporaryDirectory { directory in
            let path = try write("canary", to: directory + "/secret", mode: 0o600)
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: path)
            #expect(try SecretFile.read(directory + "/link") == Secret("canary"))
        }
    }

    @Test func `a dangling link is not reported as a missing file, which a caller would make`() throws {
        try inTemporaryDirectory { directory in
            let (link, gone) = (directory + "/link", directory + "/gone")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: gone)
            let error = #expect(throws: FileError(.unreadable, "")) { try SecretFile.read(link) }
            #expect(error?.message == "is a symbolic link that leads nowhere")
        }
    }

    @Test(arguments: [("", FileError.Code.empty), ("\n\n", .empty), (String(repeating: "x", count: 65_537), .tooLarge)])
    func `a file without a valid secret is refused`(content: String, code: FileError.Code) throws {
        try inTemporaryDirectory { directory in
            let path = try write(content, to: directory + "/secret", mode: 0o600)
            #expect(throws: FileError(code, "")) { try SecretFile.read(path) }
        }
    }

    @Test func `a path that is not a file is refused`() throws {
        try inTemporaryDirectory { directory in
            #expect(throws: FileError(.unreadable, "")) { try SecretFile.read(directory) }
            #expect(throws: FileError(.missing, "")) { try SecretFile.read(directory + "/none") }
            #expect(throws: FileError(.unreadable, "")) { try SecretFile.read("/dev/null") }
        }
    }
}
