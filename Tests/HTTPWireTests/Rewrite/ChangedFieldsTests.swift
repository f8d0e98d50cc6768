import FoundationEssentials
import HTTPWire
import Testing

/// The table in which the documents say what changes on the way names all that does, and nothing else.
@Suite struct ChangedFieldsTests {
    /// Names in lower case that a row for this way has, those that stand for all that begin with them without their `*`.
    private func documented(_ way: String) throws -> Set<String> {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/martlet/Documentation.docc/Configuration.md")
        let text = try String(decoding: Data(contentsOf: file), as: UTF8.self)
        let section = try #require(text.split(separator: "## What changes on the way\n").dropFirst().first)
        let rows = try #require(section.split(separator: "\n## ").first).split(separator: "\n")
        var names: Set<String> = []
        for row in rows where row.hasPrefix("| \(way) |") {
            let cells = row.split(separator: "|")
            try #require(cells.count == 4, "\(row)")
            // Words in code stand at odd places.
            for (place, word) in cells[1].split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where place % 2 == 1 {
                names.insert(word.lowercased().replacing("*", with: ""))
            }
        }
        return names
    }

    /// Lines of which each is one known field's, with what a reader would accept as its value.
    private func line(_ known: KnownField) -> String {
        let name = "\(known.name)\(known.name.description.hasSuffix("-") ? "any" : "")"
        let value =
            switch known {
            case .host: "a"
            case .transferEncoding: "chunked"
            case .expect: "100-continue"
            case .contentLength: "0"
            case .link: "</v2/x>"
            case .refresh: "5; url=/v2/x"
            case .location, .contentLocation, .operationLocation: "https://api.example/v2/x"
            default: "x"
            }
        return "\(name): \(value)"
    }

    private var names: [KnownField] { KnownField.allCases.filter { $0.name.utf8CodeUnitCount > 0 } }

    /// Whether a request with this line is refused; where it is not, whether the line leaves.
    private func leaves(_ line: String) throws -> Bool {
        let lines = ["POST / HTTP/1.1"] + (line.hasPrefix("host:") ? [] : ["Host: a"]) + [line]
        guard case .whole = readRequest([head(lines)[...]]), let request = try parseRequest([head(lines)[...]])?.0
        else {
            return false
        }
        let upstream = UpstreamRequest(path: "/", host: "b", via: false, injectedName: "X-Key")
        return text(upstream.head(for: request, replacing: 1, framing: request.body, spare: 0)).contains(
            "\r\n\(line)\r\n"
        )
    }

    @Test func `of requests`() throws {
        let documented = try self.documented("request")
        let changed = try Set(self.names.filter { try !self.leaves(self.line($0)) }.map(\.name.description))
        // What is refused by a name that may be read as its own is decided by, or changed.
        let decisive = try Set(
            self.names.filter { known in
                let line = self.line(known)
                let name = line.prefix { $0 != ":" }
                let read = String(name).replacing("-", with: "_") + String(line.dropFirst(name.count))
                return name.contains("-") ? try !self.leaves(read) : false
            }.map(\.name.description)
        )
        #expect(changed.count >= 23 && decisive.count >= 19)
        #expect(changed.union(decisive).subtracting(documented) == [])
        let known = Set(self.names.map(\.name.description))
        #expect(documented.intersection(known).subtracting(changed).subtracting(decisive) == ["origin", "via"])
    }

    @Test func `of answers`() throws {
        let documented = try self.documented("answer")
        let targets = ResponseTargets(
            scheme: "https",
            authority: "api.example",
            upstreamPath: "/v2/",
            prefix: "/acme/",
            strip: true
        )
        let changed = try Set(
            self.names.filter { known in
                let line = self.line(known)
                let parsed = try parseAnswer([head(["HTTP/1.1 200 OK", line])[...]])
                let answer = try #require(parsed).0
                let written = CallerResponse.head(of: answer, framing: answer.body, close: false, targets: targets)
                return !text(written).contains("\r\n\(line)\r\n")
            }.map(\.name.description)
        )
        #expect(changed.count >= 19)
        #expect(changed.subtracting(documented) == [])
        let known = Set(self.names.map(\.name.description))
        #expect(documented.intersection(known).subtracting(changed) == [])
    }
}
