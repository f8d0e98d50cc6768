internal import CShims

/// What a stored response answers: a resource, as one requester sees it.
///
/// Two keys are equal only if all their bytes are. The hashes, made once here, find the candidates.
package struct CacheKey: Hashable, Sendable {
    /// The resource, and behind it whatever else tells requesters apart.
    package private(set) var bytes: [UInt8]
    /// How many of the bytes name the resource.
    package let resourceLength: Int
    /// Of all bytes.
    let hash: Int
    /// Of the resource alone.
    let resourceHash: Int

    /// - Parameter resourceLength: how many of `bytes` name the resource. Keys of different resources must differ
    ///   within these bytes.
    package init(_ bytes: [UInt8], resourceLength: Int) {
        self.bytes = bytes
        self.resourceLength = resourceLength
        // The slices are read during these calls only, while `bytes` is valid.
        (self.hash, self.resourceHash) = unsafe bytes.withUnsafeBytes { bytes in
            var hasher = Hasher()
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[..<resourceLength]))
            let resource = hasher
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[resourceLength...]))
            return (hasher.finalize(), resource.finalize())
        }
    }

    /// The key of a resource for no requester in particular, for use where only the resource counts.
    package init(resource: some Sequence<UInt8>) {
        let bytes = Array(resource)
        self.init(bytes, resourceLength: bytes.count)
    }

    /// Overwrites the bytes, unless somebody else still uses them.
    mutating func wipe() {
        let count = self.bytes.count
        // The array's memory is ours for the call.
        unsafe self.bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe martlet_zero(base, count) }
        }
    }

    /// The bytes that name the resource.
    package var resource: ArraySlice<UInt8> { self.bytes[..<self.resourceLength] }

    func hasSameResource(as other: CacheKey) -> Bool {
        self.resourceHash == other.resourceHash && self.resource == other.resource
    }

    package static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.hash == right.hash && left.resourceLength == right.resourceLength && left.bytes == right.bytes
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.hash) }
}
