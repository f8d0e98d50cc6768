package import HTTPWire
import NIOCore
import TokenModel

/// By what a stored response is recognized: `ETag` and `Last-Modified` (RFC 9110 §8.8).
package struct Validators: Equatable, Sendable {
    let tag: StoredTag?
    /// `Last-Modified` as it came, a well-formed date.
    let lastModified: [UInt8]?
    /// ``lastModified`` as a time.
    let modifiedAt: WallTime?
    /// `Date` is at least a second later than `Last-Modified`: so the upstream had no time for a second version with the
    /// same date, and the date is a strong validator (RFC 9110 §8.8.2.2).
    let isDateStrong: Bool

    package init(_ head: ResponseHead) {
        let bytes = head.bytes.readableBytesUInt8Span
        self.tag = head.fields.onlyValue(of: "etag", in: bytes).flatMap { EntityTag($0, in: bytes) }
            .map { StoredTag($0, in: bytes) }
        let lastModified = head.fields.onlyValue(of: "last-modified", in: bytes)
        self.modifiedAt = lastModified.flatMap { bytes.date($0) }
        self.lastModified = self.modifiedAt == nil ? nil : lastModified.map { bytes.copy($0) }
        let date = head.fields.onlyValue(of: "date", in: bytes).flatMap { bytes.date($0) }
        if let date, let modifiedAt = self.modifiedAt {
            self.isDateStrong = modifiedAt.duration(to: date) >= .seconds(1)
        } else {
            self.isDateStrong = false
        }
    }

    /// The upstream can't be asked whether the response is still good.
    package var isEmpty: Bool { self.tag == nil && self.lastModified == nil }

    /// The lines that ask the upstream whether the response is still good, each with its CRLF (RFC 9111 §4.3.1). Both
    /// are sent: a recipient that knows only dates ignores the other.
    package func lines() -> [UInt8] {
        var lines: [UInt8] = []
        if let tag = self.tag { lines += Array("If-None-Match: ".utf8) + tag.text + Array("\r\n".utf8) }
        if let date = self.lastModified { lines += Array("If-Modified-Since: ".utf8) + date + Array("\r\n".utf8) }
        return lines
    }

    /// Whether a 304 with the validators `other` can mean the response with these (RFC 9111 §4.3.4). A 304 without
    /// validators means the response that was asked about.
    package func mayBeConfirmed(by other: Validators) -> Bool {
        if let tag = other.tag {
            // A strong tag selects only a response with that tag; a weak one selects by the weak comparison.
            return self.tag?.opaque == tag.opaque && (tag.isWeak || self.tag?.isWeak == false)
        }
        guard let date = other.modifiedAt, self.tag == nil else { return true }
        return self.modifiedAt == date
    }
}
