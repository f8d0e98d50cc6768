#if canImport(Glibc)
    import Glibc
#endif

// The two searches that every byte of a head goes through, many bytes at a time.

extension Span<UInt8> {
    /// The first LF at or behind `start` and before `end`.
    func firstLineFeed(from start: Int, to end: Int) -> Int? {
        precondition(start >= 0 && end <= self.count)
        guard start < end else { return nil }
        return unsafe self.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress,
                let found = unsafe memchr(base + start, CInt(UInt8.lineFeed), end - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
    }

    /// Where the first eight bytes begin, counted in steps of eight from `start`, that hold a control character (a tab is
    /// one too) or DEL, or that are not all there.
    func endOfVisibleWords(from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits: UInt64 = 0x8080_8080_8080_8080
        var position = start
        while position + 8 <= self.count {
            let word = unsafe self.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self)
            // A subtraction that borrows sets a byte's high bit; bytes that had it before are no ASCII, and may stand here.
            let controls = (word &- ones &* 0x20) & ~word
            let flipped = word ^ (ones &* 0x7F)
            let deletes = (flipped &- ones) & ~flipped
            guard (controls | deletes) & highBits == 0 else { break }
            position += 8
        }
        return position
    }
}
