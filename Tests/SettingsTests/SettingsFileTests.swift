import FoundationEssentials
import Glibc
import Settings
import TestKit
import Testing
import TokenModel

@Suite struct SettingsFileTests {
    @Test func `a file on disk is read with what lies beside it`() throws {
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

    @Test func `a link in another directory does not move what the file refers to`() throws {
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

    @Test func `a secret that others can read is a fault where the file names it`() throws {
        try inTemporaryDirectory { directory in
            let text = SampleFile().provider("client_secret: { file: s }", "tls: { ca: none.pem }").text
            let path = try write(text, to: directory + "/martlet.yaml")
            try write("canary", to: directory + "/s", mode: 0o644)

            #expect(
                lines(loading: path) == [
                    "\(path):5:22: providers.acme.client_secret.file: \(directory)/s can be read or written by others (mode 0644);"
                        + " run chmod 600 on it",
                    "\(path):6:16: providers.acme.tls.ca: \(directory)/none.pem can't be read: No such file or directory",
                ]
            )
        }
    }

    @Test func `a file that is not there is one line`() throws {
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

    @Test func `what is no regular file is refused, and not waited for`() throws {
        let help = "; another file is named by --config or MARTLET_CONFIG"
        #expect(lines(loading: "/dev/zero") == ["/dev/zero: is not a regular file\(help)"])
        try inTemporaryDirectory { directory in
            // Given a pipe that nobody writes to
            let path = directory + "/martlet.yaml"
            try #require(unsafe mkfifo(path, 0o600) == 0)
            #expect(lines(loading: path) == ["\(path): is not a regular file\(help)"])
        }
    }

    @Test func `a file that is far too large is given up`() throws {
        try inTemporaryDirectory { directory in
            let path = try write(String(repeating: "#", count: 2 << 20), to: directory + "/martlet.yaml")
            #expect(lines(loading: path) == ["\(path): is larger than 1MiB"])
        }
    }

    @Test func `a file that is not UTF-8 says where`() throws {
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
