package import HTTPWire
import NIOCore
import TokenModel

/// What of a stored response answers a request: its conditions come first, then its range (RFC 9110 §13.2.2).
package enum ServedPart: Equatable, Sendable {
    case whole
    /// 304: the caller has the response.
    case notModified
    /// 206, with these bytes of the body. There is at least one.
    case range(Range<Int>)
    /// 416: no byte that the caller asks for exists.
    case unsatisfiable

    /// - Parameter directives: of `request`.
    package init(_ request: RequestHead, _ directives: RequestDirectives, _ stored: StoredResponse) {
        guard !directives.conditions.isEmpty, (200..<300).contains(stored.head.status) else {
            self = .whole
            return
        }
        let conditions = directives.conditions
        if conditions.contains(.noneMatch) {
            if request.hasTag(of: stored) {
                self = .notModified
                return
            }
        } else if conditions.contains(.modifiedSince), !request.isOlder(than: stored) {
            // If-None-Match stands above the date (RFC 9110 §13.1.3).
            self = .notModified
            return
        }
        guard conditions.contains(.range), case .get = request.method, stored.head.status == 200,
            !conditions.contains(.ifRange) || request.isRange(of: stored)
        else {
            self = .whole
            return
        }
        self = request.range(within: stored.body.count)
    }
}

extension RequestHead {
    /// `If-None-Match` has the stored tag, by the weak comparison, or `*` (RFC 9110 §13.1.2).
    fileprivate func hasTag(of stored: StoredResponse) -> Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        for value in self.fields.values(of: "if-none-match", in: bytes) {
            if bytes.matches(value, "*") { return true }
            guard let tag = stored.validators.tag else { continue }
            var members = QuotedList(of: value, hasEscapes: false)
            while let member = members.next(in: bytes) {
                if let other = EntityTag(member, in: bytes), tag.isWeaklyEqual(other, in: bytes) { return true }
            }
        }
        return false
    }

    /// Whether what the caller has may be older than the stored response, by `If-Modified-Since` (RFC 9110 §13.1.3). A
    /// malformed date is no condition, so the response is sent.
    fileprivate func isOlder(than stored: StoredResponse) -> Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        let value = self.fields.onlyValue(of: "if-modified-since", in: bytes)
        guard let since = value.flatMap({ bytes.date($0) }), let changed = stored.changedAt else { return true }
        return since < changed
    }

    /// `If-Range` names the stored response, by the strong comparison (RFC 9110 §13.1.5).
    fileprivate func isRange(of stored: StoredResponse) -> Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        guard let value = self.fields.onlyValue(of: "if-range", in: bytes) else { return false }
        if let date = bytes.date(value) {
            return stored.validators.isDateStrong && stored.validators.modifiedAt == date
        }
        guard let tag = stored.validators.tag, let other = EntityTag(value, in: bytes) else { return false }
        return tag.isStronglyEqual(other, in: bytes)
    }

    /// The one range of `Range` (RFC 9110 §14.1.2). Several ranges, other units and malformed ones are ignored.
    fileprivate func range(within count: Int) -> ServedPart {
        let bytes = self.bytes.readableBytesUInt8Span
        guard let value = self.fields.onlyValue(of: "range", in: bytes),
            value.count > 6, bytes.matches(ByteRange(value.lower, value.lower + 6), "bytes=")
        else { return .whole }
        let spec = bytes.trimmed(ByteRange(value.lower + 6, value.upper))
        var dash = spec.lower
        while dash < spec.upper, bytes[dash] != UInt8(ascii: "-") { dash += 1 }
        guard dash < spec.upper else { return .whole }
        let first = ByteRange(spec.lower, dash)
        let last = ByteRange(dash + 1, spec.upper)
        guard !first.isEmpty else {
            guard let suffix = bytes.position(last) else { return .whole }
            guard suffix > 0 else { return .unsatisfiable }
            // No part of an empty body is a range.
            return count == 0 ? .whole : .range(max(count - suffix, 0)..<count)
        }
        guard let start = bytes.position(first), let end = last.isEmpty ? .max : bytes.position(last), start <= end
        else { return .whole }
        return start < count ? .range(start..<min(end, count - 1) + 1) : .unsatisfiable
    }
}

extension StoredResponse {
    /// The time that `If-Modified-Since` is compared with: of the last change, or else of the response (RFC 9111
    /// §4.3.2).
    fileprivate var changedAt: WallTime? {
        if let modifiedAt = self.validators.modifiedAt { return modifiedAt }
        let head = self.head
        let bytes = head.bytes.readableBytesUInt8Span
        return head.fields.onlyValue(of: "date", in: bytes).flatMap { bytes.date($0) }
    }
}

extension Span<UInt8> {
    /// A position in a body; a number that is too large counts as behind all bodies. `nil` for anything but digits.
    fileprivate func position(_ range: ByteRange) -> Int? {
        guard !range.isEmpty else { return nil }
        var position = 0
        for index in range.lower..<range.upper {
            guard self[index].isDigit else { return nil }
            position = Swift.min(position * 10 + Int(self[index] & 0x0F), 1 << 56)
        }
        return position
    }
}
