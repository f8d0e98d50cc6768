internal import FoundationEssentials
package import TokenModel
package import TokenStorage

extension AuditRecord {
    private static let format: UInt8 = 1

    /// The record as bytes to seal: what is hashed is what is stored.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(String(decoding: self.canonical, as: UTF8.self))
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        let text: String = try reader.read()
        try reader.finish()
        guard var record = try? JSONDecoder().decode(AuditRecord.self, from: Data(text.utf8)),
            record.canonical.elementsEqual(text.utf8)
        else { throw FieldReader.malformed("text that is no record of this version's") }
        if record.actor == AuditActor.Kind.admin.rawValue {
            (record.name, record.from) = AuditActor.parts(ofMemo: record.from)
        }
        self = record
    }
}
