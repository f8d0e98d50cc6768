internal import CShims
internal import FoundationEssentials

extension [UInt8] {
    /// Overwrites the bytes with zeros. If another array shares the storage, the other array's bytes stay.
    mutating func wipe() {
        unsafe self.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe martlet_zero(base, buffer.count) }
        }
    }
}

extension Data {
    /// Overwrites the bytes with zeros. If another `Data` shares the storage, the other's bytes stay.
    mutating func wipe() {
        unsafe self.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe martlet_zero(base, buffer.count) }
        }
    }
}
