internal import TokenStorage

extension Collection where Element: Sendable {
    /// Calls `read` for each element, at most 16 at a time, and hands each result to `found` as it comes, in no order.
    ///
    /// - Throws: the first error of a read. No further read begins after it.
    func readEach<Found: Sendable>(
        _ read: @escaping @Sendable (Element) async throws(StoreError) -> Found,
        found take: (Element, Found) -> Void
    ) async throws(StoreError) {
        let result: Result<Void, StoreError> = await withTaskGroup(of: (Element, Result<Found, StoreError>).self) {
            reads in
            @Sendable func result(_ element: Element) async -> (Element, Result<Found, StoreError>) {
                do throws(StoreError) { return (element, .success(try await read(element))) } catch {
                    return (element, .failure(error))
                }
            }
            var rest = self.makeIterator()
            for _ in 0..<16 {
                guard let element = rest.next() else { break }
                reads.addTask { await result(element) }
            }
            for await (element, outcome) in reads {
                switch outcome {
                case .success(let found): take(element, found)
                case .failure(let error): return .failure(error)
                }
                if let element = rest.next() { reads.addTask { await result(element) } }
            }
            return .success(())
        }
        try result.get()
    }
}
