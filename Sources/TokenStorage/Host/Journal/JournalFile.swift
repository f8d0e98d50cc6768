internal import Glibc
internal import LocalFiles
package import TokenModel

/// An incarnation's journal on the disk: sealed entries, each at blocks of its own.
///
/// An entry that the store has acknowledged is *settled*: it says so in the file, and stays for the capacity's retention, or
/// until its room is needed. One that is not settled is never written over.
final class JournalFile {
    private let file: OpenFile
    private let path: String
    private let seal: JournalSeal
    private let capacity: JournalCapacity
    private let clock: @Sendable () -> BootInstant
    private var blocks: JournalBlocks
    /// The first was settled first.
    private var settled: [(place: JournalPlace, at: BootInstant)] = []

    /// Makes the journal of an incarnation that begins, all of its room taken.
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

    /// Whether nothing is kept, settled or not.
    var isEmpty: Bool {
        self.dropSettled()
        return self.blocks.isEmpty
    }

    /// Writes an entry; it would survive a loss of power when this returns.
    ///
    /// - Returns: `nil` where it can't be written, or there is no room.
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

    /// The store has acknowledged an entry, or something better.
    func release(_ place: JournalPlace) {
        guard self.capacity.retention > .zero else { return self.erase(place) }
        try? self.file.write(JournalFrame.settledMark, at: place.blocks.lowerBound * JournalBlocks.blockSize)
        self.settled.append((place, self.clock()))
    }

    private func dropSettled() {
        let now = self.clock()
        while let first = self.settled.first, first.at.duration(to: now) >= self.capacity.retention {
            self.erase(self.settled.removeFirst().place)
        }
    }

    /// Overwrites an entry. What the disk keeps of it for a while is not owed to the store any more.
    private func erase(_ place: JournalPlace) {
        let zeroes = [UInt8](repeating: 0, count: place.blocks.count * JournalBlocks.blockSize)
        try? self.file.write(zeroes, at: place.blocks.lowerBound * JournalBlocks.blockSize)
        self.blocks.give(back: place)
    }

    /// Takes the file's name away.
    func remove() { try? PrivateDirectory.remove(self.path) }

    /// What an incarnation left, or has there by now; nothing where there is no file.
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

/// Keeps new tokens on this host's disk while the store does not take them, past the end of this process.
package protocol SuccessJournal: Sendable {
    /// Writes `record` down.
    ///
    /// - Returns: where it stands, once it would survive a loss of power; `nil` where it can't be written.
    func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace?

    /// Forgets what stands at `place`: the store has it, or something better.
    func release(_ place: JournalPlace) async
}

/// Blocks of a journal that belong together.
package struct JournalPlace: Hashable, Sendable {
    package let blocks: Range<Int>

    package init(blocks: Range<Int>) { self.blocks = blocks }
}

/// Which blocks of a journal's file are taken.
package struct JournalBlocks: Equatable, Sendable {
    /// In bytes; what is kept begins at such a boundary, where a reader looks for it.
    package static let blockSize = 512

    private var isTaken: [Bool]

    package init(count: Int) {
        self.isTaken = Array(repeating: false, count: count)
    }

    /// Whether nothing is kept.
    package var isEmpty: Bool { !self.isTaken.contains(true) }

    /// Takes the first blocks in a row that hold `bytes`; `nil` where there are none.
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

    /// Gives blocks back; those that were never given are ignored.
    package mutating func give(back place: JournalPlace) {
        for block in place.blocks where self.isTaken.indices.contains(block) { self.isTaken[block] = false }
    }
}

/// How much room a journal has, and for how long it keeps what the store has taken.
package struct JournalCapacity: Equatable, Sendable {
    /// In bytes; all of it is taken from the disk at the start, so that a full disk does not matter later.
    package let fileSize: Int
    /// How long an entry stays that the store has acknowledged: a failover may lose it there. Zero where none does.
    package let retention: Duration

    package init(fileSize: Int, retention: Duration = .zero) {
        self.fileSize = fileSize
        self.retention = retention
    }

    /// Of a store that this host's processes alone use, before anything is known of its providers.
    package static let least = JournalCapacity(fileSize: Self.leastSize)

    /// The same with no more room than that.
    var least: JournalCapacity { JournalCapacity(fileSize: Self.leastSize, retention: self.retention) }

    /// For as many refreshes as may be under way when the store goes away, or as happen while a store that may lose its last
    /// writes can still lose them.
    ///
    /// - Parameters:
    ///   - refreshesPerSecond: of all providers together.
    ///   - burst: how many more at once.
    package init(refreshesPerSecond: Int, burst: Int, on guarantees: StoreGuarantees) {
        let isShared = guarantees.reach == .network
        self.retention = isShared ? .seconds(600) : .zero
        let most = Self.largestSize / Self.entrySize
        let entries = min(refreshesPerSecond, most) * (isShared ? 600 : 60) + min(burst, most)
        self.fileSize = max(min(entries, most) * Self.entrySize, Self.leastSize)
    }

    /// In bytes, of a usual entry: two tokens of some hundred bytes each.
    private static let entrySize = 2_048
    private static let leastSize = 1 << 20
    /// No journal is larger: whoever takes it over reads it whole.
    static let largestSize = 64 << 20
}
