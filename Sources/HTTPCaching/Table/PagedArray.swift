/// An array that grows by a page at a time and never moves its elements: growing an array of many thousands would hold
/// a shard's lock for too long.
struct PagedArray<Element>: ~Copyable {
    private static var bits: Int { 7 }

    private var pages: [ContiguousArray<Element>] = []
    private(set) var count = 0

    subscript(index: Int) -> Element {
        _read { yield self.pages[index >> Self.bits][index & (1 << Self.bits - 1)] }
        _modify { yield &self.pages[index >> Self.bits][index & (1 << Self.bits - 1)] }
    }

    mutating func append(_ element: Element) {
        if self.count & (1 << Self.bits - 1) == 0 {
            var page = ContiguousArray<Element>()
            page.reserveCapacity(1 << Self.bits)
            self.pages.append(page)
        }
        self.pages[self.pages.count - 1].append(element)
        self.count += 1
    }
}
