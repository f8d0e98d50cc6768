internal import TokenModel
internal import TokenStorage

/// What the tokens that one kill took away have come to, in numbers: a report reads one record instead of two hundred
/// thousand.
///
/// Each process adds what it has done (``TallyBook``). A process that ends in between loses its last second, so the
/// settled tokens are counted once more when none waits any more. From then on the tally is final, until another token of
/// the kill turns up.
struct KillTally: Equatable, Sendable {
    enum Standing: String, Sendable, CaseIterable {
        case waiting, revoked, refused, unsupported, unreachable
        case clientRefused = "client_refused"
        case givenUp = "given_up"

        init(_ record: RevocationRecord) {
            switch record.outcome {
            case .waiting: self = .waiting
            case .revoked: self = .revoked
            case .refused: self = .refused
            case .clientRefused: self = .clientRefused
            case .unsupported: self = .unsupported
            // The record keeps the token for as long as its provider is asked.
            case .unreachable: self = record.token == nil ? .givenUp : .unreachable
            }
        }

        var isOpen: Bool { self == .waiting || self == .unreachable || self == .clientRefused }
    }

    private(set) var counts: [ProviderID: [Standing: Int]] = [:]
    /// Whether all accounts were looked through since the kill.
    var isCollected = false
    var isFinal = false

    /// - Parameter number: in changes to a tally, it may be negative.
    mutating func add(_ number: Int, _ standing: Standing, at provider: ProviderID) {
        self.counts[provider, default: [:]][standing, default: 0] += number
    }

    mutating func add(_ changes: KillTally) {
        for (provider, counts) in changes.counts {
            for (standing, number) in counts { self.add(number, standing, at: provider) }
        }
        if changes.isCollected { self.isCollected = true }
        if !changes.counts.isEmpty { self.isFinal = false }
    }

    func count(_ standing: Standing) -> Int { max(0, self.counts.values.reduce(0) { $0 + ($1[standing] ?? 0) }) }

    /// How many tokens of each provider are yet to be revoked.
    var open: [ProviderID: Int] {
        self.counts
            .mapValues { counts in counts.reduce(0) { $1.key.isOpen ? $0 + $1.value : $0 } }
            .filter { $0.value > 0 }
    }
}

extension KillTally: SealableRecord {
    private static let format: UInt8 = 1

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.isCollected)
        writer.write(self.isFinal)
        writer.write(self.counts.sorted { $0.key < $1.key }) { provider, counts in
            writer.write(provider.rawValue)
            writer.write(counts.sorted { $0.key.rawValue < $1.key.rawValue }) { standing, number in
                writer.write(standing.rawValue)
                writer.write(Int64(number))
            }
        }
        return writer.finish()
    }

    /// - Throws: ``StoreError/Code/unreadable`` for bytes that ``encoded()`` did not write.
    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.isCollected = try reader.read()
        self.isFinal = try reader.read()
        let counts = try reader.readArray { reader throws(StoreError) in
            let provider = ProviderID(rawValue: try reader.read())
            let counts = try reader.readArray { reader throws(StoreError) in
                guard let standing = Standing(rawValue: try reader.read()) else {
                    throw FieldReader.malformed("an unknown outcome")
                }
                return (standing, Int(try reader.read(Int64.self)))
            }
            return (provider, counts)
        }
        try reader.finish()
        for (provider, counts) in counts {
            for (standing, number) in counts { self.add(number, standing, at: provider) }
        }
    }
}
