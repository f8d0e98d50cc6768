internal import Glibc
internal import SystemSupport
package import TokenModel

/// An incarnation's journal on disk. Its entries are sealed, and each begins at a block boundary.
///
/// An entry that the store has acknowledged is *settled*. The file marks it, and keeps it for
/// ``JournalCapacity/retention`` or until its blocks are needed. An entry that is not settled is never overwritten.
final class JournalFile {
    private let file: OpenFile
    private let path: String
    private let seal: JournalSeal
    private let capacity: JournalCapacity
    private let clock: @Sendable () -> BootInstant
    private var blocks: JournalBlocks
    /// The settled entries, the oldest first.
    private var settled: [(place: JournalPlace, at: BootInstant)] = []

    /// Makes the journal of a new incarnation, and allocates all its blocks on disk.
    init(
        making path: String,
        _ seal: JournalSeal,
        _ capacity: JournalCapacity,
        clock: @escaping @Sendable () -> BootInstant = { Timepiece.system.now.boot }
    ) throws(SystemCallError) {
        let file = try OpenFile(opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do throws(SystemCallError) {
            try file.allocate(capacity.fileSize)
            try file.synchronize()
            try WholeFile.synchronize(directory: WholeFile.directory(of: path))
        } catch {
            try? PrivateDirectory.remove(path)
            throw error
        }
        self.file = file
        self.path = path
        self.seal = seal
        self.capacity = capacity
        self.clock = clock
        self.blocks = JournalBlocks(count: capacity.fileSize / JournalBlocks.blockSize)
    }

    /// Whether the journal has no entry, settled or not. Drops expired settled entries first.
    var isEmpty: Bool {
        self.dropSettled()
        return self.blocks.isEmpty
    }

    /// Whether the store has acknowledged all entries.
    var isSettled: Bool {
        var rest = self.blocks
        for entry in self.settled { rest.give(back: entry.place) }
        return rest.isEmpty
    }

    /// Writes an entry. It survives a power loss once this returns.
    ///
    /// - Returns: `nil` if it can't be written or there is no room.
    func keep(_ entry: JournalEntry) -> JournalPlace? {
        let plaintext = entry.encoded()
        self.dropSettled()
        var place = self.blocks.take(bytes: JournalSeal.count(of: plaintext))
        while place == nil, !self.settled.isEmpty {
            self.erase(self.settled.removeFirst().place)
            place = self.blocks.take(bytes: JournalSeal.count(of: plaintext))
        }
        guard let place else { return nil }
        do {
            let frame = try self.seal.frame(of: plaintext, at: place.blocks.lowerBound)
            try self.file.write(frame, at: place.blocks.lowerBound * JournalBlocks.blockSize)
            try self.file.synchronize()
            return place
        } catch {
            self.erase(place)
            return nil
        }
    }

    /// Settles an entry: the store has acknowledged it, or something better.
    func release(_ place: JournalPlace) {
        guard self.capacity.retention > .zero else { return self.erase(place) }
        try? self.file.write(JournalFrame.settledMark, at: place.blocks.lowerBound * JournalBlocks.blockSize)
        self.settled.append((place, self.clock()))
    }

    /// Erases settled entries that were kept long enough.
    func dropSettled() {
        let now = self.clock()
        while let first = self.settled.first, first.at.duration(to: now) >= self.capacity.retention {
            self.erase(self.settled.removeFirst().place)
        }
    }

    /// Overwrites an entry with zeros. There is no sync: if the old bytes survive a crash, the store no longer needs
    /// them.
    private func erase(_ place: JournalPlace) {
        let zeroes = [UInt8](repeating: 0, count: place.blocks.count * JournalBlocks.blockSize)
        try? self.file.write(zeroes, at: place.blocks.lowerBound * JournalBlocks.blockSize)
        self.blocks.give(back: place)
    }

    /// Removes the file.
    func remove() { try? PrivateDirectory.remove(self.path) }

    /// The contents of the journal at `path`, of an incarnation that has ended or is running. Empty if there is no
    /// file.
    static func contents(at path: String, _ seal: JournalSeal) throws(SystemCallError) -> JournalContents {
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let ownership = try file.ownership()
            guard ownership.isRegular, ownership.owner == geteuid() else {
                throw SystemCallError(EPERM, "\(path) is not a file of this user's")
            }
            return seal.contents(of: try file.read(limit: JournalCapacity.largestSize))
        } catch {
            guard error.isMissing else { throw error }
            return JournalContents()
        }
    }
}

/// Saves new tokens on this host's disk while the store does not take them, so that they outlive this process.
package protocol SuccessJournal: Sendable {
    /// Saves `record`.
    ///
    /// - Returns: its place, once it would survive a power loss; `nil` if it can't be written.
    func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace?

    /// Releases the entry at `place`: the store has it, or something better.
    func release(_ place: JournalPlace) async
}

/// The blocks of one journal entry.
package struct JournalPlace: Hashable, Sendable {
    package let blocks: Range<Int>

    package init(blocks: Range<Int>) { self.blocks = blocks }
}

/// The set of used blocks in a journal file.
package struct JournalBlocks: Equatable, Sendable {
    /// The size of a block in bytes. Entries begin at block boundaries, where a reader looks for them.
    package static let blockSize = 512

    private var isTaken: [Bool]

    package init(count: Int) {
        self.isTaken = Array(repeating: false, count: count)
    }

    /// Whether no block is used.
    package var isEmpty: Bool { !self.isTaken.contains(true) }

    /// Takes the first contiguous free blocks that hold `bytes`; `nil` if there are none.
    package mutating func take(bytes: Int) -> JournalPlace? {
        let wanted = (bytes + Self.blockSize - 1) / Self.blockSize
        guard wanted > 0 else { return nil }
        var start = 0
        for block in self.isTaken.indices {
            if self.isTaken[block] { start = block + 1 }
            guard block + 1 - start == wanted else { continue }
            for block in start...block { self.isTaken[block] = true }
            return JournalPlace(blocks: start..<block + 1)
        }
        return nil
    }

    /// Frees blocks. Blocks outside the file are ignored.
    package mutating func give(back place: JournalPlace) {
        for block in place.blocks where self.isTaken.indices.contains(block) { self.isTaken[block] = false }
    }
}

/// The size of a journal, and how long it keeps entries that the store has taken.
package struct JournalCapacity: Equatable, Sendable {
    /// The size of the file in bytes. It is allocated at the start, so that a full disk does not matter later.
    package let fileSize: Int
    /// How long an entry stays after the store has acknowledged it, because a failover may lose it there. Zero if no
    /// other host uses the store.
    package let retention: Duration

    package init(fileSize: Int, retention: Duration = .zero) {
        self.fileSize = fileSize
        self.retention = retention
    }

    /// The capacity for a store without other hosts, before its providers are known.
    package static let least = JournalCapacity(fileSize: Self.leastSize)

    /// The same retention with the least size.
    var least: JournalCapacity { JournalCapacity(fileSize: Self.leastSize, retention: self.retention) }

    /// How long entries stay, in seconds, after a store has acknowledged them that may lose them in a failover.
    static let sharedRetention = 600

    /// Room for the refreshes of 60 s, while the store is unreachable. For a store that several hosts share, room for
    /// 600 s, in which a failover may lose acknowledged writes.
    ///
    /// - Parameters:
    ///   - refreshesPerSecond: the rate of all providers together.
    ///   - burst: how many more refreshes may happen at once.
    package init(refreshesPerSecond: Int, burst: Int, on guarantees: StoreGuarantees) {
        let isShared = guarantees.reach == .network
        self.retention = .seconds(isShared ? Self.sharedRetention : 0)
        let most = Self.largestSize / Self.entrySize
        let entries = min(refreshesPerSecond, most) * (isShared ? Self.sharedRetention : 60) + min(burst, most)
        self.fileSize = max(min(entries, most) * Self.entrySize, Self.leastSize)
    }

    /// The size of a typical entry in bytes: two tokens of some hundred bytes each.
    private static let entrySize = 2_048
    private static let leastSize = 1 << 20
    /// The size limit of a journal in bytes. The process that takes a journal over reads it all into memory.
    static let largestSize = 64 << 20
}
