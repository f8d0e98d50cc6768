package import HTTPWire
internal import NIOCore

/// A response as a cache keeps it.
package final class StoredResponse: Sendable {
    package let head: ResponseHead
    package let body: StoredBody
    package let vary: VaryValues
    package let owner: CacheOwner

    package init(head: ResponseHead, body: StoredBody, vary: VaryValues, owner: CacheOwner) {
        self.head = head
        self.body = body
        self.vary = vary
        self.owner = owner
    }

    /// What it takes of memory without its key, in bytes.
    package var size: Int { self.body.count + self.head.bytes.readableBytes + self.head.fields.count * MemoryLayout<Field>.stride + 512 }
}

/// The fields of the request that a response was chosen by.
package struct VaryValues: Equatable, Sendable {
    package let name: String
    package let value: String?

    package init(name: String = "", value: String? = nil) {
        self.name = name
        self.value = value
    }

    package func matches(_ request: RequestHead) -> Bool {
        guard !self.name.isEmpty else { return true }
        let field = request.fields.first { self.text($0.name, request).lowercased() == self.name }
        return field.map { self.text($0.value, request) } == self.value
    }

    private func text(_ range: ByteRange, _ request: RequestHead) -> String {
        String(decoding: request.bytes.readableBytesView.dropFirst(range.lower).prefix(range.count), as: UTF8.self)
    }
}
