internal import LocalFiles
internal import TokenModel

/// The lock on an incarnation's file, held for as long as this object lives: of this process's own boot, or of one that has ended.
///
/// The file says which store the incarnation is of, and, behind that, whether somebody has found it dead.
final class IncarnationLock: Sendable {
    private let path: String
    private let file: OpenFile
    private let storeID: StoreID
    /// What the file held when it was opened.
    private let head: [UInt8]

    init(path: String, of storeID: StoreID, _ file: consuming OpenFile) {
        self.path = path
        self.storeID = storeID
        self.head = (try? file.read(limit: 4_096)) ?? []
        self.file = file
    }

    /// What the file of an incarnation of a store begins with.
    static func contents(of storeID: StoreID) -> [UInt8] { Array(storeID.rawValue.utf8) }

    /// What follows: under which incarnation of which kernel the lock was taken.
    private static func mark(of kernel: String) -> [UInt8] { Array("@\(kernel)".utf8) }

    /// What the file of an incarnation that begins holds.
    static func contents(of storeID: StoreID, under kernel: String?) -> [UInt8] {
        Self.contents(of: storeID) + (kernel.map(Self.mark) ?? [])
    }

    /// Whether the incarnation is of the store that this was opened for: only then does anything follow from its end.
    var isOfStore: Bool {
        self.head.starts(with: Self.contents(of: self.storeID))
    }

    /// Whether the lock was taken under that incarnation of the kernel: only then does the kernel that gives it now know that the
    /// process has ended.
    func isUnder(_ kernel: String?) -> Bool {
        kernel.map { self.head.starts(with: Self.contents(of: self.storeID, under: $0)) } ?? false
    }

    /// Writes down that the incarnation is known dead; the file's time says since when. Once is enough.
    func bury() {
        guard self.head.last != Self.buriedMark else { return }
        try? self.file.write([Self.buriedMark], at: self.head.count)
    }

    /// Ends no hexadecimal id.
    private static let buriedMark = UInt8(ascii: "!")

    /// Sets the file's time: its process runs.
    func touch(under kernel: String?) {
        try? self.file.write(Self.contents(of: self.storeID, under: kernel), at: 0)
    }

    /// Whether the file was changed last, by its incarnation or whoever found that dead, longer than `seconds` before `now`.
    func isOlder(than seconds: Int, at now: Int) -> Bool {
        guard let extent = try? self.file.extent() else { return false }
        return now - extent.changedAt > seconds
    }

    /// Takes the file's name away. From then on nothing is inferred about the incarnation.
    func remove() {
        try? PrivateDirectory.remove(self.path)
    }
}
