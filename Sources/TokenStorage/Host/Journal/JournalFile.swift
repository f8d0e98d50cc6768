internal import Glibc
internal import LocalFiles
internal import TokenModel

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
