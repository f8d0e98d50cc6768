import FoundationEssentials
import HTTPWire
import Testing

/// The documented table of changed fields lists every field that the gateway changes, and no other.
@Suite struct ChangedFieldsTests {
    /// The names in the rows for one direction, in lower case. A name that stands for a prefix loses its `*`.
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
            // Splitting at backticks puts the code words at odd places.
            for (place, word) in cells[1].split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where place % 2 == 1 {
                names.insert(word.lowercased().replacing("*", with: ""))
            }
        }
        return names
    }

    /// A line of one known field, with a value that the parser accepts.
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

    /// Whether a request with this line is accepted, and the line goes upstream unchanged.
    private func leaves(_ line: String) throws -> Bool {
        let lines = ["POST / HTTP/1.1"] + (line.hasPrefix("host:") ? [] : ["Host: a"]) + [line]
        guard case .whole = readRequest([head(lines)[...]]), let request = try parseRequest([head(lines)[...]])?.0
        else {
            return false
        }
        let upstream = UpstreamRequest(path: "/", host: "b", via: nil, injectedName: "X-Key")
        return text(upstream.head(for: request, replacing: 1, framing: request.body, spare: 0)).contains(
            "\r\n\(line)\r\n"
        )
    }

    @Test func `the table lists every changed request field, and no other`() throws {
        let documented = try self.documented("request")
        let changed = try Set(self.names.filter { try !self.leaves(self.line($0)) }.map(\.name.description))
        // If a name with `_` for `-` does not pass, the gateway changes the field with `-`, or decides by it.
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

    @Test func `the table lists every changed response field, and no other`() throws {
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
        // It is added, and never changed.
        #expect(documented.intersection(known).subtracting(changed) == ["date"])
    }
}
