internal import Settings

/// What decides how a sign-in on this machine goes: the environment and the file system.
package struct LoginSurroundings: Sendable {
    /// Environment variables by name.
    package let environment: [String: String]
    /// Whether a file exists at a path.
    package let exists: @Sendable (_ path: String) -> Bool
    /// Whether there is a program at a path that this user may run.
    package let isExecutable: @Sendable (_ path: String) -> Bool

    package init(
        environment: [String: String],
        exists: @escaping @Sendable (_ path: String) -> Bool,
        isExecutable: @escaping @Sendable (_ path: String) -> Bool
    ) {
        self.environment = environment
        self.exists = exists
        self.isExecutable = isExecutable
    }

    /// A variable's value; `nil` if it is empty.
    func value(_ name: String) -> String? { self.environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether this process runs in a container, whose loopback no browser reaches.
    var isContainer: Bool {
        self.value("container") != nil || self.value("KUBERNETES_SERVICE_HOST") != nil || self.exists("/.dockerenv")
            || self.exists("/run/.containerenv")
    }

    /// The path of a program: `name` itself if it is a path, else the first in `PATH`. Relative directories in `PATH`
    /// are ignored, because anybody may own the working directory.
    func program(_ name: String) -> String? {
        if name.contains("/") { return name.hasPrefix("/") && self.isExecutable(name) ? name : nil }
        guard !name.isEmpty else { return nil }
        let directories = (self.value("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        return directories.lazy.map { "\($0)/\(name)" }.first(where: self.isExecutable)
    }
}

/// The program that opens an address in a browser.
package struct BrowserProgram: Equatable, Sendable {
    /// An absolute path.
    package let path: String
    /// The words before and after the address, which takes the place of `%s`; without a `%s` it comes last.
    private let words: [String]

    private init(path: String, words: [String]) {
        self.path = path
        self.words = words
    }

    /// Finds a program that can show a browser to the person at this terminal; `nil` if there is none.
    ///
    /// `BROWSER` is a list of commands separated by colons. It goes before everything else, also over SSH and in a
    /// container: a person set it.
    package static func find(in surroundings: LoginSurroundings) -> BrowserProgram? {
        for command in (surroundings.value("BROWSER") ?? "").split(separator: ":") {
            let words = command.split(separator: " ").map(String.init)
            guard let name = words.first, let path = surroundings.program(name) else { continue }
            return BrowserProgram(path: path, words: Array(words.dropFirst()))
        }
        let hasScreen = surroundings.value("DISPLAY") != nil || surroundings.value("WAYLAND_DISPLAY") != nil
        guard hasScreen, surroundings.value("SSH_CONNECTION") == nil, !surroundings.isContainer else { return nil }
        return surroundings.program("xdg-open").map { BrowserProgram(path: $0, words: []) }
    }

    /// The program's arguments, which no shell reads: the address is one of them, or part of one.
    package func arguments(for address: OpenableAddress) -> [String] {
        guard self.words.contains(where: { $0.contains("%s") }) else { return self.words + [address.text] }
        return self.words.map { word in
            guard let place = word.firstRange(of: "%s") else { return word }
            return word[..<place.lowerBound] + address.text + word[place.upperBound...]
        }
    }
}

extension String {
    fileprivate func firstRange(of text: String) -> Range<String.Index>? {
        self.indices.lazy.map { self[$0...] }.first { $0.hasPrefix(text) }
            .map { $0.startIndex..<self.index($0.startIndex, offsetBy: text.count) }
    }
}

/// An address that may be given to a browser: `https://`, or `http://` on loopback. Everything else could be read on
/// its way, or would start some other program.
package struct OpenableAddress: Equatable, Sendable {
    package let text: String

    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let end = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<end].lowercased()
        let rest = text[end...]
        guard rest.hasPrefix("://") else { return nil }
        let authority = rest.dropFirst(3).prefix { !"/?#\\".contains($0) }
        // A name before an `@` looks like the host to people.
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let isLoopback = NetworkHost.isLoopback(AuthorityHost.host(of: authority))
        guard scheme == "https" || scheme == "http" && isLoopback else { return nil }
        self.text = text
    }
}

/// The host in the authority of a URL.
enum AuthorityHost {
    /// What stands before the port; an IPv6 address with its brackets.
    static func host(of authority: Substring) -> String {
        guard authority.hasPrefix("["), let end = authority.firstIndex(of: "]") else {
            return String(authority.prefix { $0 != ":" })
        }
        return String(authority[...end])
    }
}

/// How a sign-in goes: the way, and the program that opens the address.
package struct LoginPlan: Equatable, Sendable {
    package let way: LoginWay
    /// `nil`: the address is only printed.
    package let browser: BrowserProgram?

    /// - Parameters:
    ///   - wish: the way that an option names; `nil` for none.
    ///   - opensBrowser: `false` for `--no-browser`. Then a browser of this machine is still expected to come, and the
    ///     port listens.
    package init(wish: LoginWay?, opensBrowser: Bool, in surroundings: LoginSurroundings) {
        let browser = BrowserProgram.find(in: surroundings)
        let way = wish ?? (browser != nil || !opensBrowser ? .loopback : .paste)
        self.way = way
        self.browser = opensBrowser && (way == .loopback || way == .gateway) ? browser : nil
    }
}
