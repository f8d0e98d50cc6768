extension AuditRecord {
    /// The canonical text of the record: all its members as JSON, sorted by name, without spaces.
    ///
    /// A ``name`` is put into `from`, followed by an `@`. A version that does not know names would skip a member of
    /// their own, and so compute another hash.
    ///
    /// The text equals the output of `jq -cS` for the record as the admin API shows it, without its `hash` and with its
    /// `name` moved into `from`. So anybody can recompute the hash.
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

    /// The hash of this record that the next record holds.
    package var hash: AuditHash { AuditHash(of: self.canonical) }
}

/// Writes the members of a JSON object in the order in which they are added.
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

    /// Escapes what JSON requires (RFC 8259 §7), by the short form if there is one, and DEL. All else is written as
    /// UTF-8.
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
