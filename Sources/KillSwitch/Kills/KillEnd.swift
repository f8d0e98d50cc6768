internal import TokenModel
internal import TokenStorage

/// What is kept of a kill once it is complete.
struct KillEnd: Equatable, Sendable {
    var replicas: [KillReport.Replica]
    var draining: Int
    var completedAt: WallTime
}

extension KillEnd: SealableRecord {
    private static let format: UInt8 = 1

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.replicas) { replica in
            writer.write(replica.name)
            writer.write(replica.state.rawValue)
        }
        writer.write(Int64(self.draining))
        writer.write(self.completedAt.millisecondsSince1970)
        return writer.finish()
    }

    /// - Throws: ``StoreError/Code/unreadable`` for bytes that ``encoded()`` did not write.
    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.replicas = try reader.readArray { reader throws(StoreError) in
            let name: String = try reader.read()
            guard let state = KillWatch.State(rawValue: try reader.read()) else {
                throw FieldReader.malformed("an unknown state of a replica")
            }
            return KillReport.Replica(name: name, state: state)
        }
        self.draining = Int(try reader.read(Int64.self))
        self.completedAt = WallTime(millisecondsSince1970: try reader.read())
        try reader.finish()
    }
}
