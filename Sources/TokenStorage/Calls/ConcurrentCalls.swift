/// Makes store calls for many items, a limited number at once.
///
/// A store commits calls that are in progress together in one group, so sixteen at once take hardly longer than one.
struct ConcurrentCalls {
    static let limit = 16

    /// Calls `body` with each item. Begins no further call after one has failed.
    ///
    /// - Throws: the first error, after the calls in progress have ended.
    static func forEach<Item: Sendable>(
        _ items: some Sequence<Item>,
        _ body: @escaping @Sendable (Item) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let failure = await withTaskGroup(of: StoreError?.self) { group in
            var rest = items.makeIterator()
            func begin() {
                guard let item = rest.next() else { return }
                group.addTask {
                    do throws(StoreError) {
                        try await body(item)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            var first: StoreError?
            for _ in 0..<Self.limit { begin() }
            while let ended = await group.next() {
                first = first ?? ended
                if first == nil { begin() }
            }
            return first
        }
        if let failure { throw failure }
    }
}

/// Collects items that are worked on together, so that a listing need not be kept in memory.
struct CallBatch<Item: Sendable> {
    private static var size: Int { 4 * ConcurrentCalls.limit }

    private let body: @Sendable (Item) async throws(StoreError) -> Void
    private var items: [Item] = []

    init(_ body: @escaping @Sendable (Item) async throws(StoreError) -> Void) { self.body = body }

    /// Adds an item, and works on all of them if there are enough.
    mutating func add(_ item: Item) async throws(StoreError) {
        self.items.append(item)
        if self.items.count >= Self.size { try await self.finish() }
    }

    /// Works on the items that are left.
    mutating func finish() async throws(StoreError) {
        let items = self.items
        self.items = []
        try await ConcurrentCalls.forEach(items, self.body)
    }
}
