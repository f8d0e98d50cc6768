package import Audit

/// Records of the audit log as people read them, one a line.
package enum AuditText {
    package static func table(_ items: [AuditItem]) -> [String] {
        var table = TextTable("NO", "TIME", "WHO", "ACTION", "WHAT", "OUTCOME", "REASON")
        for item in items {
            switch item {
            case .unreadable(let number):
                table.add([String(number), "-", "-", "-", "-", "-", "this record does not open"])
            case .record(let record):
                table.add([
                    String(record.number),
                    record.time,
                    self.who(record),
                    record.action,
                    self.what(record),
                    self.outcome(record),
                    [record.reason, record.detail].compactMap(\.self).joined(separator: "; "),
                ])
            }
        }
        return table.lines
    }

    private static func who(_ record: AuditRecord) -> String {
        "\(record.name ?? record.actor) \(record.from ?? "somewhere") at \(record.replica)"
    }

    private static func what(_ record: AuditRecord) -> String {
        guard let scope = record.scope else { return "-" }
        return ScopeReply(all: scope.all, provider: scope.provider, account: scope.account).text
    }

    /// A record from before a change has none; the one after it names that.
    private static func outcome(_ record: AuditRecord) -> String {
        guard let outcome = record.outcome else { return "(begins)" }
        return record.of.map { "\(outcome), begun as \($0)" } ?? outcome
    }
}
