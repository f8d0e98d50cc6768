/// The memory of a head's fields, for the next head of the same connection: most connections have one head at a time, so
/// that it is nobody else's by then. Where it is, or where it was large, the next head takes new memory.
struct SpareFields {
    /// As many fields as most heads have.
    private static let usual = 12
    /// What one head with more took is not kept while the connection waits.
    private static let most = 32

    private var fields: [Field] = []

    /// An empty list with room.
    mutating func take() -> [Field] {
        var fields: [Field] = []
        swap(&fields, &self.fields)
        // Keeps the memory where nobody else has it.
        fields.removeAll(keepingCapacity: true)
        fields.reserveCapacity(Self.usual)
        return fields
    }

    /// Keeps the memory of a head that is given out now.
    mutating func keep(_ fields: [Field]) {
        if fields.capacity <= Self.most { self.fields = fields }
    }
}
