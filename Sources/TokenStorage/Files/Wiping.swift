internal import CShims
internal import FoundationEssentials

extension [UInt8] {
    /// Overwrites the bytes; no other array may share them, or theirs stay.
    mutating func wipe() {
        unsafe self.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe martlet_zero(base, buffer.count) }
        }
    }
}

extension Data {
    /// Overwrites the bytes; no other data may share them, or theirs stay.
    mutating func wipe() {
        unsafe self.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe martlet_zero(base, buffer.count) }
        }
    }
}
