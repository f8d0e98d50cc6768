import FoundationEssentials
import Glibc
import Settings
import TestKit
import Testing
import TokenModel

@Suite struct SettingsFileTests {
    @Test func `a file on disk is read with the files beside it`() throws {
        try inTemporaryDirectory { directory in
            let text = SampleFile().provider("client_secret: { file: acme.secret }", "tls: { ca: roots.pem }").text
            let path = try write(text, to: directory + "/martlet.yaml")
            try write("canary\n", to: directory + "/acme.secret", mode: 0o600)
            try write("", to: directory + "/roots.pem")

            let settings = try SettingsFile.load(path: path, variables: ["HOME": "/home/me"])

            #expect(settings.providers.first?.clientSecrets.first?.value == Secret("canary"))
            #expect(settings.providers.first?.certificateAuthorities == directory + "/roots.pem")
            #expect(settings.stateDirectory == "/home/me/.local/state/martlet")
        }
    }

    @Test func `relative paths are resolved from the directory of a link, not of its target`() throws {
        try inTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/data", withIntermediateDirectories: false)
            let text = SampleFile().provider("tls: { ca: roots.pem }").text
            let target = try write(text, to: directory + "/data/real.yaml")
            try FileManager.default.createSymbolicLink(atPath: directory + "/martlet.yaml", withDestinationPath: target)
            try write("", to: directory + "/roots.pem")

            let settings = try SettingsFile.load(path: directory + "/martlet.yaml", variables: ["HOME": "/h"])

            #expect(settings.providers.first?.certificateAuthorities == directory + "/roots.pem")
        }
    }

    @Test(arguments: [0o644, 0o600, 0o664, 0o646, 0o666])
    func `a file at the default path is refused if others can write it`(mode: Int) throws {
        try inTemporaryDirectory { directory in
            let path = try write("state_dir: /s", to: directory + "/martlet.yaml", mode: mode)
            let isOpen = mode & 0o022 != 0
            let found = Result { () throws(SettingsError) in
                try SettingsFile.loadAdmin(path: path, isFound: true, variables: [:])
            }
            switch found {
            case .success(let admin):
                #expect(!isOpen)
                #expect(admin.socket == "/s/admin.sock")
            case .failure(let error):
                #expect(isOpen)
                let text = error.faults.map(\.description).joined()
                #expect(text.contains("others can write it (mode 0\(String(mode, radix: 8)), owner "))
                #expect(text.contains("nobody has named it"))
                #expect(!text.contains("another user"))
            }
            #expect(try SettingsFile.loadAdmin(path: path, isFound: false, variables: [:]).socket == "/s/admin.sock")
        }
    }

    @Test(.enabled("needs root, to give a file away") { geteuid() == 0 })
    func `a file at the default path is refused if it, or a link to it, belongs to another user`() throws {
        try inTemporaryDirectory { directory in
            let path = try write("state_dir: /s", to: directory + "/martlet.yaml", mode: 0o644)
            let link = directory + "/link.yaml"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            #expect(try SettingsFile.loadAdmin(path: link, isFound: true, variables: [:]).socket == "/s/admin.sock")
            try #require(unsafe lchown(link, 1_001, 1_001) == 0)
            let linked = #expect(throws: SettingsError.self) {
                try SettingsFile.loadAdmin(path: link, isFound: true, variables: [:])
            }
            let reason = "is a symbolic link that belongs to another user (owner 1001, "
            #expect(linked?.faults.first?.message.hasPrefix(reason) == true)
            #expect(try SettingsFile.loadAdmin(path: path, isFound: true, variables: [:]).socket == "/s/admin.sock")
            try #require(unsafe chown(path, 1_001, 1_001) == 0)
            let foreign = #expect(throws: SettingsError.self) {
                try SettingsFile.loadAdmin(path: path, isFound: true, variables: [:])
            }
            let message = foreign?.faults.first?.message ?? ""
            #expect(message.hasPrefix("belongs to another user (mode 0644, owner 1001, "))
            #expect(!message.contains("others can write it"))
            #expect(try SettingsFile.loadAdmin(path: path, isFound: false, variables: [:]).socket == "/s/admin.sock")
        }
    }

    @Test func `a command ignores unreadable files that only the gateway needs`() throws {
        try inTemporaryDirectory { directory in
            let text = "state_dir: /s\nadmin: { address: 10.0.0.1:1, tls: { certificate: none.pem, key: none.key } }"
            let path = try write(text, to: directory + "/martlet.yaml")
            let admin = try SettingsFile.loadAdmin(path: path, isFound: false, variables: [:])
            #expect(admin.tls?.certificate == directory + "/none.pem")
        }
    }

    @Test func `a secret that others can read is a fault at its position`() throws {
        try inTemporaryDirectory { directory in
            let text = SampleFile().provider("client_secret: { file: s }", "tls: { ca: none.pem }").text
            let path = try write(text, to: directory + "/martlet.yaml")
            try write("canary", to: directory + "/s", mode: 0o644)

            #expect(
                lines(loading: path) == [
                    "\(path):5:22: providers.acme.client_secret.file: \(directory)/s can be read or written by others"
                        + " (mode 0644, owner \(geteuid()), and this process is user \(geteuid())); run chmod 600 on it",
                    "\(path):6:16: providers.acme.tls.ca: \(directory)/none.pem can't be read: No such file or directory",
                ]
            )
        }
    }

    @Test func `a missing file is reported in one line`() throws {
        try inTemporaryDirectory { directory in
            let path = directory + "/none.yaml"
            #expect(
                lines(loading: path) == [
                    "\(path): can't be read: No such file or directory;"
                        + " another file is named by --config or MARTLET_CONFIG"
                ]
            )
            #expect(throws: SettingsError.self) { try SettingsFile.load(path: directory) }
            #expect(lines(loading: directory).count == 1)
        }
    }

    @Test func `a file that is not regular is refused without waiting`() throws {
        let help = "; another file is named by --config or MARTLET_CONFIG"
        #expect(lines(loading: "/dev/zero") == ["/dev/zero: is not a regular file\(help)"])
        try inTemporaryDirectory { directory in
            // Given a named pipe that nobody writes to
            let path = directory + "/martlet.yaml"
            try #require(unsafe mkfifo(path, 0o600) == 0)
            #expect(lines(loading: path) == ["\(path): is not a regular file\(help)"])
        }
    }

    @Test func `a file that is far too large is refused`() throws {
        try inTemporaryDirectory { directory in
            let path = try write(String(repeating: "#", count: 2 << 20), to: directory + "/martlet.yaml")
            #expect(lines(loading: path) == ["\(path): is larger than 1MiB"])
        }
    }

    @Test func `a file that is not UTF-8 is reported with the position`() throws {
        try inTemporaryDirectory { directory in
            let path = try write(Data("log: {}\r\n# é\n# caf".utf8) + [0xE9, 0x0A], to: directory + "/martlet.yaml")
            #expect(lines(loading: path) == ["\(path):3:6: is not UTF-8 text here: save the file as UTF-8"])
        }
    }

    private func lines(loading path: String) -> [String] {
        do throws(SettingsError) {
            _ = try SettingsFile.load(path: path, variables: ["HOME": "/home/me"])
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }
}
