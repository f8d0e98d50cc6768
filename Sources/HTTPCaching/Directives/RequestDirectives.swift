package import HTTPWire
import NIOCore

/// What a request demands of caches: `Cache-Control` (RFC 9111 §5.2.1), `Pragma` where there is none (§5.4), and the
/// fields that make it conditional or ask for a part.
///
/// One pass over the fields. It allocates nothing, since each request on a caching route goes through it.
package struct RequestDirectives: Equatable, Sendable {
    /// A stored response must not be used without asking the upstream.
    package private(set) var noCache = false
    /// The response must not be stored.
    package private(set) var noStore = false
    /// The caller wants a stored response or none.
    package private(set) var onlyIfCached = false
    /// The greatest age that the caller accepts, in seconds; the least of several values. A malformed value counts as 0.
    package private(set) var maxAge: Int?
    /// How long the response must stay fresh, in seconds; the greatest of several values. A malformed value asks for
    /// more than any response has.
    package private(set) var minFresh: Int?
    /// How stale a response the caller accepts, in seconds; `.max` for any. The least of several values; a malformed
    /// value counts as 0.
    package private(set) var maxStale: Int?
    /// How stale a response the caller accepts in place of an error, in seconds (RFC 5861 §4); the least of several
    /// values. A malformed value counts as 0.
    package private(set) var staleIfError: Int?
    /// The conditions and the range of the request.
    package private(set) var conditions: RequestConditions = []

    package init(_ head: RequestHead) {
        let bytes = head.bytes.readableBytesUInt8Span
        var hasCacheControl = false
        var hasPragma = false
        for field in head.fields {
            // None of these names is one that the gateway knows.
            guard case .other = field.known else { continue }
            switch field.name.count {
            case 6 where bytes.matches(field.name, "pragma"):
                var members = QuotedList(of: field.value)
                while let member = members.next(in: bytes) {
                    if bytes.matches(member, "no-cache") { hasPragma = true }
                }
            case 13 where bytes.matches(field.name, "cache-control"):
                hasCacheControl = true
                var members = QuotedList(of: field.value)
                while let member = members.next(in: bytes) { self.take(Directive(member, in: bytes), in: bytes) }
            default:
                // What goes no further is no condition for the upstream, and none here either.
                if !field.isStripped { self.conditions.insert(RequestConditions(field.name, in: bytes)) }
            }
        }
        if hasPragma, !hasCacheControl { self.noCache = true }
    }

    private mutating func take(_ directive: Directive, in bytes: Span<UInt8>) {
        let name = directive.name
        if bytes.matches(name, "no-cache") {
            self.noCache = true
        } else if bytes.matches(name, "no-store") {
            self.noStore = true
        } else if bytes.matches(name, "only-if-cached") {
            self.onlyIfCached = true
        } else if bytes.matches(name, "max-age") {
            self.maxAge = min(self.maxAge ?? .max, directive.seconds(in: bytes) ?? 0)
        } else if bytes.matches(name, "min-fresh") {
            self.minFresh = max(self.minFresh ?? 0, directive.seconds(in: bytes) ?? .max)
        } else if bytes.matches(name, "max-stale") {
            let accepted = directive.value == nil ? .max : directive.seconds(in: bytes) ?? 0
            self.maxStale = min(self.maxStale ?? .max, accepted)
        } else if bytes.matches(name, "stale-if-error") {
            self.staleIfError = min(self.staleIfError ?? .max, directive.seconds(in: bytes) ?? 0)
        }
    }
}

/// The fields by which a request becomes conditional (RFC 9110 §13.1) or asks for a part (§14.2).
package struct RequestConditions: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let match = RequestConditions(rawValue: 1)
    package static let unmodifiedSince = RequestConditions(rawValue: 2)
    package static let noneMatch = RequestConditions(rawValue: 4)
    package static let modifiedSince = RequestConditions(rawValue: 8)
    package static let range = RequestConditions(rawValue: 16)
    package static let ifRange = RequestConditions(rawValue: 32)

    /// What a field of that name is; empty for most.
    init(_ name: ByteRange, in bytes: Span<UInt8>) {
        self =
            switch name.count {
            case 5 where bytes.matches(name, "range"): .range
            case 8 where bytes.matches(name, "if-match"): .match
            case 8 where bytes.matches(name, "if-range"): .ifRange
            case 13 where bytes.matches(name, "if-none-match"): .noneMatch
            case 17 where bytes.matches(name, "if-modified-since"): .modifiedSince
            case 19 where bytes.matches(name, "if-unmodified-since"): .unmodifiedSince
            default: []
            }
    }
}
