import Settings
import SystemSupport
import TokenModel

/// A small valid configuration, in which a test adds or replaces lines.
///
/// The provider's keys are at column 5 from line 3 on, the account is at line 7, the route's keys from line 9 on.
struct SampleFile {
    private var root: [String] = []
    private var provider = [
        "issuer: https://login.acme.example",
        "client_id: my-app",
    ]
    private var account = "alice: { provider: acme }"
    private var route = [
        "name: acme",
        "match: { path: /acme/ }",
        "upstream: http://127.0.0.1:9000/v2/",
        "account: alice",
    ]

    /// Lines at the end of the file.
    func adding(_ lines: String) -> SampleFile {
        var file = self
        file.root.append(lines)
        return file
    }

    func provider(_ lines: String...) -> SampleFile {
        var file = self
        Self.merge(lines, into: &file.provider)
        return file
    }

    func provider(without key: String) -> SampleFile {
        var file = self
        file.provider.removeAll { $0.hasPrefix(key + ":") }
        return file
    }

    func account(_ line: String) -> SampleFile {
        var file = self
        file.account = line
        return file
    }

    func route(_ lines: String...) -> SampleFile {
        var file = self
        Self.merge(lines, into: &file.route)
        return file
    }

    func route(without key: String) -> SampleFile {
        var file = self
        file.route.removeAll { $0.hasPrefix(key + ":") }
        return file
    }

    var text: String {
        var lines = ["providers:", "  acme:"] + self.provider.map { "    " + $0 }
        lines += ["accounts:", "  " + self.account, "routes:"]
        lines += self.route.enumerated().map { ($0 == 0 ? "  - " : "    ") + $1 }
        return (lines + self.root).joined(separator: "\n") + "\n"
    }

    /// Replaces a line with the same key, or appends the line if no line has its key.
    private static func merge(_ lines: [String], into existing: inout [String]) {
        for line in lines {
            let key = line.prefix { $0 != ":" } + ":"
            if let index = existing.firstIndex(where: { $0.hasPrefix(key) }) {
                existing[index] = line
            } else {
                existing.append(line)
            }
        }
    }
}

/// Reads `text` as `/etc/martlet/martlet.yaml`, with `/home/me` as the home directory and `secrets` as secret files.
func settings(
    of text: String,
    variables: [String: String] = ["HOME": "/home/me"],
    secrets: [String: String] = [:]
) throws(SettingsError) -> GatewaySettings {
    let surroundings = SettingsEnvironment(
        configurationDirectory: "/etc/martlet",
        variables: variables,
        readSecret: { path throws(FileError) in
            guard let secret = secrets[path] else { throw FileError(.unreadable, "can't be read: it is not there") }
            return Secret(secret)
        },
        secretConcern: { $0.contains("foreign") ? "belongs to another user" : nil },
        checkReadable: { path throws(FileError) in
            guard path != "/etc/martlet/missing.pem" else {
                throw FileError(.unreadable, "can't be read: it is not there")
            }
        }
    )
    return try SettingsReader(file: "martlet.yaml", surroundings: surroundings).read(text)
}

/// The faults in `text` as the operator sees them, but without the file name. Empty if there are none.
func faults(
    of text: String,
    variables: [String: String] = ["HOME": "/home/me"],
    secrets: [String: String] = [:]
) -> [String] {
    do throws(SettingsError) {
        _ = try settings(of: text, variables: variables, secrets: secrets)
        return []
    } catch {
        return error.faults.map { $0.description.replacing("martlet.yaml:", with: "", maxReplacements: 1) }
    }
}
