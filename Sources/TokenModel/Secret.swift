internal import CShims

/// Bytes that must never appear in text: access and refresh tokens, client secrets, keys.
///
/// Every conversion to text (interpolation, `dump`, reflection) shows `<redacted>`. Only ``withUnredacted(_:)`` gives
/// access to the bytes; search for that name to find every reader. Copies of a `Secret` share one buffer, which is
/// overwritten when the last copy is released. A comparison takes the same time wherever two values differ.
package struct Secret: Sendable {
    private let storage: Storage

    /// Copies `bytes`. Erasing the original is up to the caller.
    package init(_ bytes: some Collection<UInt8>) {
        self.storage = Storage(bytes)
    }

    /// Copies the UTF-8 bytes of `text`.
    package init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Number of bytes.
    package var count: Int { self.storage.count }

    package var isEmpty: Bool { self.count == 0 }

    /// Lends the bytes for the duration of `body`. `body` must not copy them into anything that is printed or stored.
    package func withUnredacted<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.storage.withBytes(body)
    }
}

extension Secret: Equatable {
    /// Compares in constant time if both values have the same length.
    package static func == (left: Secret, right: Secret) -> Bool {
        right.withUnredacted { left.matches($0) }
    }
}

extension Secret {
    /// Whether the bytes equal `candidate`. Compares in constant time if both have the same length.
    package func matches(_ candidate: Span<UInt8>) -> Bool {
        guard self.count == candidate.count else { return false }
        return self.withUnredacted { bytes in
            var difference: UInt8 = 0
            for index in bytes.indices { difference |= bytes[index] ^ candidate[index] }
            return difference == 0
        }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret {
    /// Owns the buffer and overwrites it before releasing it.
    ///
    /// `@unchecked Sendable`: the buffer is written once, in `init`, before the reference is shared. After that it is
    /// only read. `deinit` runs when no other reference is left.
    @safe
    private final class Storage: @unchecked Sendable {
        private let buffer: UnsafeMutableBufferPointer<UInt8>

        var count: Int { unsafe self.buffer.count }

        init(_ bytes: some Collection<UInt8>) {
            let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
            _ = unsafe buffer.initialize(fromContentsOf: bytes)
            unsafe self.buffer = buffer
        }

        deinit {
            if let base = unsafe self.buffer.baseAddress {
                unsafe martlet_zero(base, self.buffer.count)
            }
            unsafe self.buffer.deallocate()
        }

        func withBytes<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
            -> Result
        {
            try body(unsafe self.buffer.span)
        }
    }
}
