package import HTTPWire
import NIOCore
import TextCoding
package import TokenModel

/// The head of a stored response: the upstream's fields without those that belong to one connection or one exchange, in
/// memory of its own, so that it keeps nothing of a connection's buffer alive.
package enum StoredHead {
    /// The stored form of `head` (RFC 9111 §3.1).
    ///
    /// - Parameters:
    ///   - bodyLength: if it is known; otherwise ``withLength(_:of:)`` adds it.
    ///   - time: when the head came. It becomes the `Date` of a response without one (RFC 9110 §6.6.1).
    /// - Returns: `nil` if the response's `Connection` removes a field that a cache goes by.
    package static func make(from head: ResponseHead, bodyLength: Int?, at time: WallTime) -> ResponseHead? {
        let bytes = head.bytes.readableBytesUInt8Span
        guard !head.hidesCacheFields(in: bytes) else { return nil }
        let hasDate = head.fields.contains { $0.known == .date && !$0.isStripped }
        if hasDate, let bodyLength, head.body == .length(bodyLength),
            head.fields.allSatisfy({ $0.isStored(in: bytes) || $0.isStripped || $0.known == .contentLength })
        {
            return head.detached()
        }
        var lines = HeadLines(status: head.statusBytes, capacity: bytes.count + 96)
        for field in head.fields where field.isStored(in: bytes) { lines.add(field, of: head) }
        if !hasDate { lines.add("Date", HTTPDate.text(of: time).utf8) }
        if let bodyLength { lines.addLength(bodyLength, status: head.status) }
        return lines.head()
    }

    /// The stored head with the length of its body, which has come now.
    package static func withLength(_ length: Int, of stored: ResponseHead) -> ResponseHead? {
        var lines = HeadLines(status: stored.statusBytes, capacity: stored.bytes.readableBytes + 32)
        for field in stored.fields where !field.isStripped { lines.add(field, of: stored) }
        lines.addLength(length, status: stored.status)
        return lines.head()
    }

    /// The stored head after a 304, or a response to HEAD, has confirmed it: each field of the new head replaces all
    /// stored ones of its name (RFC 9111 §3.2). Fields that describe the stored bytes stay.
    ///
    /// - Returns: `nil` if the new head hides a field that a cache goes by, or if the result is too large: the stored
    ///   response can't be kept.
    package static func updated(
        _ stored: ResponseHead,
        by answer: ResponseHead,
        bodyLength: Int,
        at time: WallTime
    ) -> ResponseHead? {
        let old = stored.bytes.readableBytesUInt8Span
        let new = answer.bytes.readableBytesUInt8Span
        guard !answer.hidesCacheFields(in: new) else { return nil }
        let updates = answer.fields.filter { $0.isStored(in: new) && !$0.describesBytes(in: new) }
        let names = Set(updates.map { new.lowercased($0.name) })
        var lines = HeadLines(status: stored.statusBytes, capacity: old.count + new.count + 96)
        let hasDate = names.contains(Array("date".utf8))
        for field in stored.fields where !field.isStripped && !names.contains(old.lowercased(field.name)) {
            // The date of the first response would make the confirmed one old.
            if hasDate || field.known != .date { lines.add(field, of: stored) }
        }
        for field in updates { lines.add(field, of: answer) }
        if !hasDate { lines.add("Date", HTTPDate.text(of: time).utf8) }
        lines.addLength(bodyLength, status: stored.status)
        // Each update may add fields: without a limit, the head would grow for ever.
        return lines.head(limits: .response)
    }
}

extension HeadLines {
    /// A 204 has no length.
    fileprivate mutating func addLength(_ length: Int, status: Int) {
        if status != 204 { self.add("Content-Length", String(length).utf8) }
    }
}

extension ResponseHead {
    /// `Connection` names a field by which caches decide. Without it, they would decide otherwise.
    fileprivate func hidesCacheFields(in bytes: Span<UInt8>) -> Bool {
        self.fields.contains { field in
            field.isStripped
                && (bytes.matches(field.name, "cache-control") || bytes.matches(field.name, "vary")
                    || bytes.matches(field.name, "expires") || bytes.matches(field.name, "etag")
                    || bytes.matches(field.name, "last-modified"))
        }
    }
}

extension Field {
    /// Whether it belongs to the response and not to one exchange (RFC 9111 §3.1).
    fileprivate func isStored(in bytes: Span<UInt8>) -> Bool {
        guard !self.isStripped else { return false }
        switch self.known {
        case .contentLength, .transferEncoding, .setCookie, .trailer: return false
        default: return !bytes.matches(self.name, "age")
        }
    }

    /// Whether it says what the body's bytes are, so that only a body can change it (RFC 9111 §3.2).
    fileprivate func describesBytes(in bytes: Span<UInt8>) -> Bool {
        self.known == .contentEncoding || bytes.matches(self.name, "content-range")
    }
}

extension Span<UInt8> {
    /// The bytes of `range` in lower case.
    fileprivate func lowercased(_ range: ByteRange) -> [UInt8] { self.copy(range).map(\.lowercased) }
}
