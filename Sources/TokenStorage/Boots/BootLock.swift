internal import LocalFiles
internal import TokenModel

/// The lock on a boot's file, held for as long as this object lives: of this process's own boot, or of one that has ended.
///
/// The file says which store the boot is of, and, behind that, whether somebody has found it dead.
final class BootLock: Sendable {
    private let path: String
    private let file: OpenFile
    private let storeID: StoreID

    init(path: String, of storeID: StoreID, _ file: consuming OpenFile) {
        self.path = path
        self.storeID = storeID
        self.file = file
    }

    /// What the file of a boot of a store begins with.
    static func contents(of storeID: StoreID) -> [UInt8] { Array(storeID.rawValue.utf8) }

    /// Whether the boot is of the store that this was opened for: only then does anything follow from its end.
    var isOfStore: Bool {
        let contents = Self.contents(of: self.storeID)
        return (try? self.file.read(limit: contents.count)) == contents
    }

    /// Writes down that the boot is known dead; the file's time says since when. Once is enough.
    func bury() {
        let count = Self.contents(of: self.storeID).count
        guard let extent = try? self.file.extent(), extent.count == count else { return }
        try? self.file.write([UInt8(ascii: "d")], at: count)
    }

    /// Whether the file was changed last, by its boot or whoever found that dead, longer than `seconds` before `now`.
    func isOlder(than seconds: Int, at now: Int) -> Bool {
        guard let extent = try? self.file.extent() else { return false }
        return now - extent.changedAt > seconds
    }

    /// Takes the file's name away. From then on nothing is inferred about the boot.
    func remove() {
        try? PrivateDirectory.remove(self.path)
    }
}
