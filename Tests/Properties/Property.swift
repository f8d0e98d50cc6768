internal import Glibc
import NIOCore

/// A property that must hold for every input of one parser. Tests check it on a corpus, and fuzzers on generated
/// inputs.
package struct Property: Sendable {
    /// The name of the fuzzer and its corpus.
    package let name: String
    private let check: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, _ check: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.check = check
    }

    /// - Throws: ``Violation`` if the property does not hold.
    package func hold(for input: [UInt8]) throws {
        try self.check(input)
    }

    /// Aborts the process if the property does not hold, so that a fuzzer keeps the input.
    package func demand(for input: UnsafeBufferPointer<UInt8>) {
        do {
            try unsafe self.check(Array(input))
        } catch {
            let words = Array("\(self.name): \(error)\n".utf8)
            _ = unsafe words.withUnsafeBytes { unsafe write(2, $0.baseAddress, $0.count) }
            abort()
        }
    }

    package static let all = [
        requestHead, chunks, target, rewrite, caching, providerResponse, authorizationResponse,
    ]
}

/// The error for an input that violates a property.
package struct Violation: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Throws a ``Violation`` if `condition` is false.
func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    guard condition else { throw Violation(what()) }
}

/// Ways in which the same bytes may arrive: whole, byte by byte, and in two pieces split at places that depend on the
/// bytes.
func arrivals(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
    guard bytes.count > 1 else { return [[bytes[...]]] }
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let splits = [1, bytes.count - 1, Int(hash % UInt64(bytes.count)), Int((hash >> 24) % UInt64(bytes.count))]
    return [[bytes[...]], bytes.indices.map { bytes[$0...$0] }]
        + splits.map { [bytes[..<$0], bytes[$0...]] }
}

extension ByteBuffer {
    /// The bytes at `lower..<upper`, counted from the reader index.
    func bytes(_ lower: Int, _ upper: Int) -> [UInt8] {
        self.getBytes(at: self.readerIndex + lower, length: upper - lower) ?? []
    }
}

extension [UInt8] {
    var text: String { String(decoding: self, as: UTF8.self) }

    /// The bytes with ASCII letters in lower case.
    var lowercased: [UInt8] { self.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 } }
}
