extension AuditRecord {
    /// The one text of the record: its members as JSON, all of them, in the order of their names, without a space.
    ///
    /// A ``name`` stands in `from`, with an `@` behind it: a version that knows no names passes over a member of its
    /// own, and would so compute another hash.
    ///
    /// That is what `jq -cS` makes of the record as the admin API shows it, without its `hash`, and with its `name` put
    /// there: so anybody can recompute it.
    package var canonical: [UInt8] {
        var text = CanonicalObject()
        text.add("action", self.action)
        text.add("actor", self.actor)
        text.add("boot", self.boot)
        text.add("detail", self.detail)
        text.add("from", AuditActor.memo(self.name, from: self.from))
        text.add("id", self.id)
        text.add("number", self.number)
        text.add("of", self.of)
        text.add("outcome", self.outcome)
        text.add("previous", self.previous.digits)
        text.add("reason", self.reason)
        text.add("replica", self.replica)
        text.add("scope", self.scope)
        text.add("time", self.time)
        return text.finished
    }

    /// What the next record holds of this one.
    package var hash: AuditHash { AuditHash(of: self.canonical) }
}

/// Puts the members of an object one behind the other. Whoever adds them keeps their order.
private struct CanonicalObject {
    private var bytes: [UInt8] = []

    var finished: [UInt8] { (self.bytes.isEmpty ? [UInt8(ascii: "{")] : self.bytes) + [UInt8(ascii: "}")] }

    mutating func add(_ name: String, _ value: String?) {
        self.begin(name)
        guard let value else { return self.append("null") }
        self.quote(value)
    }

    mutating func add(_ name: String, _ value: UInt64?) {
        self.begin(name)
        self.append(value.map { String($0) } ?? "null")
    }

    mutating func add(_ name: String, _ scope: AuditRecord.Scope?) {
        self.begin(name)
        guard let scope else { return self.append("null") }
        var members = CanonicalObject()
        if let account = scope.account { members.add("account", account) }
        if let all = scope.all {
            members.begin("all")
            members.append(all ? "true" : "false")
        }
        if let provider = scope.provider { members.add("provider", provider) }
        self.bytes += members.finished
    }

    private mutating func begin(_ name: String) {
        self.bytes.append(UInt8(ascii: self.bytes.isEmpty ? "{" : ","))
        self.quote(name)
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(_ text: String) { self.bytes += Array(text.utf8) }

    /// Escapes what must be (RFC 8259 §7), by the short form where there is one, and DEL; all else stands as UTF-8.
    private mutating func quote(_ text: String) {
        self.bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): self.append("\\\"")
            case UInt8(ascii: "\\"): self.append("\\\\")
            case 0x08: self.append("\\b")
            case 0x09: self.append("\\t")
            case 0x0A: self.append("\\n")
            case 0x0C: self.append("\\f")
            case 0x0D: self.append("\\r")
            case 0..<0x20, 0x7F: self.append("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))")
            default: self.bytes.append(byte)
            }
        }
        self.bytes.append(UInt8(ascii: "\""))
    }
}
