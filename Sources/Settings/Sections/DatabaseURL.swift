internal import TextCoding

/// A server that may hold the database of a store.
package struct DatabaseHost: Equatable, Sendable {
    /// A name, an address without brackets, or a directory with a Unix socket, which begins with `/`.
    package let name: String
    package let port: Int
    /// Whether what is sent stays on this machine.
    let isLocal: Bool

    package var text: String { self.name.contains(":") ? "[\(self.name)]:\(self.port)" : "\(self.name):\(self.port)" }

    /// How connections are encrypted, for people.
    static func encryption(_ isEncrypted: Bool, roots: String?) -> String {
        guard isEncrypted else { return "not encrypted" }
        return "over TLS with \(roots.map { "the roots in \($0)" } ?? "the system's roots")"
    }
}

extension [DatabaseHost] {
    var text: String { self.map(\.text).joined(separator: " or ") }
}

/// The parts of a URL that names the servers of a database:
/// `SCHEME://[USER@]HOST[:PORT][,HOST[:PORT]…][/PATH][?NAME=VALUE[&NAME=VALUE…]]`.
struct DatabaseURL {
    let scheme: String
    /// `nil` if the URL names none.
    let user: String?
    /// The hosts as they are written.
    let authority: Substring
    /// What follows the first `/` behind the hosts; `nil` if there is nothing.
    let path: String?
    let parameters: [(name: String, value: String)]

    /// - Parameter schemes: the schemes that are allowed. Messages name the first.
    /// - Throws: an error that does not repeat the text, which may hold a password.
    init(_ text: String, schemes: [String]) throws(ValueError) {
        guard let scheme = schemes.first(where: { text.hasPrefix("\($0)://") }) else {
            throw ValueError("expected a URL with \(schemes[0])://")
        }
        self.scheme = scheme
        let rest = text.dropFirst(scheme.count + 3)
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let target = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        self.path = target.count == 2 && !target[1].isEmpty ? try Self.decoded(target[1]) : nil
        let authority = target[0].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let user = authority.count == 2 ? authority[0] : ""
        guard !user.contains(":") else {
            throw ValueError("must not hold a password; use password: { file: PATH } or { env: NAME }")
        }
        self.user = user.isEmpty ? nil : try Self.decoded(user)
        self.authority = authority[authority.count - 1]
        var parameters: [(name: String, value: String)] = []
        for parameter in parts.count == 2 ? parts[1].split(separator: "&") : [] {
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            parameters.append((String(pair[0]), try Self.decoded(pair.count == 2 ? pair[1] : "")))
        }
        self.parameters = parameters
    }

    /// The hosts, at most 8.
    ///
    /// - Parameter port: the port of a host that names none.
    func hosts(port: Int) throws(ValueError) -> [DatabaseHost] {
        var hosts: [DatabaseHost] = []
        for one in self.authority.split(separator: ",", omittingEmptySubsequences: false) {
            // Colons within brackets belong to an IPv6 address.
            let begin = one.hasPrefix("[") ? one.lastIndex(of: "]") ?? one.endIndex : one.startIndex
            let colon = one[begin...].firstIndex(of: ":") ?? one.endIndex
            let named = colon == one.endIndex ? port : try PortNumber.parse(one[one.index(after: colon)...])
            guard named > 0 else { throw ValueError("has port 0") }
            let host = try NetworkHost(one[..<colon])
            hosts.append(DatabaseHost(name: host.text, port: named, isLocal: host.isLoopback))
        }
        guard hosts.count <= 8 else { throw ValueError("names more than 8 hosts") }
        return hosts
    }

    private static func decoded(_ text: some StringProtocol) throws(ValueError) -> String {
        guard let bytes = PercentCoding.decode(Array(text.utf8).span, isForm: false),
            let decoded = String(validating: bytes, as: UTF8.self), !decoded.isEmpty, !decoded.utf8.contains(0)
        else { throw ValueError("has a part that is empty or not percent-encoded correctly") }
        return decoded
    }
}
