import Foundation
import HTTPWire
import Testing

@Suite struct WireRuleTests {
    /// Operators have alerts on these names, so a published name never changes.
    private static let names: Set<String> = [
        "not_http", "http_version", "status_line_control", "status_code", "bare_lf", "doubled_cr", "folded_field",
        "field_name", "field_value", "head_too_large", "field_too_large", "too_many_fields", "connection_option",
        "connection_names_protected", "too_many_connection_options", "two_framings", "content_length",
        "content_lengths_differ", "transfer_encoding", "transfer_encoding_bytes", "transfer_encoding_end",
        "transfer_encoding_twice", "transfer_encoding_in_http_1_0", "chunk_size", "chunk_size_too_long",
        "chunk_extension", "chunk_extensions_too_large", "chunk_end", "trailers_too_large", "too_many_interim_answers",
        "upgrade_not_asked",
    ]

    @Test func `published names stay`() {
        #expect(Self.names.isSubset(of: WireRule.allCases.map(\.rawValue)))
    }

    @Test func `each rule describes its finding in different words`() {
        #expect(Set(WireRule.allCases.map { "\($0.finding)" }).count == WireRule.allCases.count)
    }

    @Test func `the error for a broken rule carries the rule`() {
        for rule in WireRule.allCases {
            #expect(WireError(rule).rule == rule)
            #expect("\(WireError(rule).reason)" == "\(rule.finding)")
        }
    }

    @Test func `Operations explains each rule, and no other`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appending(path: "Sources/martlet/Documentation.docc/Operations.md"),
            encoding: .utf8
        )
        let section = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix("Upstreams whose") })
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") && !$0.hasPrefix("| `error.reason") }
        let explained = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(explained.sorted() == WireRule.allCases.map(\.rawValue).sorted())
    }
}
