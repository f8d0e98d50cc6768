/// Finds where a head ends, over any number of pieces, looking at each byte once.
///
/// It takes only CRLF for a line's end, and says so at once when it sees another: a peer that ends lines otherwise would
/// never be heard to finish.
struct HeadScanner {
    /// How many bytes have been looked at, up to the end or to the fault that was thrown.
    private(set) var scanned = 0
    private var lineStart = 0
    /// The end of the first line (behind its CRLF), once it is there.
    private(set) var firstLineEnd: Int?

    /// The number of bytes up to and with the empty line, or `nil` while it has not come.
    mutating func end(in bytes: Span<UInt8>, limit: Int) throws(WireError) -> Int? {
        let available = min(bytes.count, limit)
        var index = self.scanned
        while let found = bytes.firstLineFeed(from: index, to: available) {
            index = found
            guard index > 0, bytes[index - 1] == .carriageReturn else {
                self.scanned = index
                throw WireError(.bareLineFeed)
            }
            guard index < 2 || bytes[index - 2] != .carriageReturn else {
                self.scanned = index
                throw WireError(.doubledCarriageReturn)
            }
            let line = self.lineStart
            index += 1
            self.lineStart = index
            if self.firstLineEnd == nil {
                self.firstLineEnd = index
            } else if index - line == 2 {
                self.scanned = index
                return index
            }
        }
        self.scanned = available
        return nil
    }
}
