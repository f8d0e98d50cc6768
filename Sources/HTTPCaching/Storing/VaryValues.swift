package import HTTPWire
import NIOCore

/// The request fields that a response's `Vary` names, with the values that the request had (RFC 9111 §4.1).
///
/// Only what goes upstream counts: a field that does not pass is absent. So is `Cookie`, which passes no caching route.
package struct VaryValues: Equatable, Sendable {
    /// One field that matters.
    private struct Selector: Equatable, Sendable {
        /// In lower case.
        let name: [UInt8]
        /// All values, joined by a comma and a space; `nil` if the request had no such field.
        let value: [UInt8]?
    }

    /// Sorted by name, each name once.
    private let selectors: [Selector]

    /// - Returns: `nil` if no request can match: `Vary` has a `*` or something that is no field name, or it names a
    ///   field that tells of the caller or one that the request has with another spelling.
    package init?(response: ResponseHead, request: RequestHead, _ sent: SentFields) {
        let bytes = response.bytes.readableBytesUInt8Span
        var names: Set<[UInt8]> = []
        for field in response.fields where bytes.matches(field.name, "vary") {
            var members = QuotedList(of: field.value)
            while let member = members.next(in: bytes) {
                let name = bytes.copy(member).map(\.lowercased)
                guard name != [UInt8(ascii: "*")], name.allSatisfy(\.isToken), !sent.tellsOfCaller(name) else {
                    return nil
                }
                if !sent.isConstant(name) { names.insert(name) }
            }
        }
        guard !names.contains(where: { request.hasTwin(of: $0) }) else { return nil }
        self.selectors = names.sorted { $0.lexicographicallyPrecedes($1) }.map { name in
            Selector(name: name, value: request.joinedValue(of: name))
        }
    }

    /// Whether any request matches.
    package var isEmpty: Bool { self.selectors.isEmpty }

    /// How many bytes they hold.
    var count: Int { self.selectors.reduce(0) { $0 + $1.name.count + ($1.value?.count ?? 0) } }

    /// How many fields matter.
    var fields: Int { self.selectors.count }

    /// Whether `request` has the same values. It allocates nothing.
    package func matches(_ request: RequestHead) -> Bool {
        for selector in self.selectors {
            guard request.hasValue(selector.value, of: selector.name), !request.hasTwin(of: selector.name) else {
                return false
            }
        }
        return true
    }
}

extension Field {
    /// Whether the upstream gets the field as it came.
    fileprivate var isSent: Bool { !self.isStripped && self.known != .cookie }
}

extension RequestHead {
    /// Whether a field that goes upstream has this name with `_` for `-`, or the other way round. Many upstreams take both
    /// for the same.
    ///
    /// - Parameter name: in lower case.
    package func hasTwin(of name: [UInt8]) -> Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        return self.fields.contains { field in
            guard field.isSent, field.name.count == name.count, !bytes.matches(field.name, lowercase: name) else {
                return false
            }
            return name.indices.allSatisfy {
                bytes[field.name.lower + $0].lowercased.hyphenated == name[$0].hyphenated
            }
        }
    }

    fileprivate func joinedValue(of name: [UInt8]) -> [UInt8]? {
        let bytes = self.bytes.readableBytesUInt8Span
        var joined: [UInt8]?
        for field in self.fields where field.isSent && bytes.matches(field.name, lowercase: name) {
            joined = (joined.map { $0 + Array(", ".utf8) } ?? []) + bytes.copy(field.value)
        }
        return joined
    }

    /// Whether ``joinedValue(of:)`` is `value`.
    fileprivate func hasValue(_ value: [UInt8]?, of name: [UInt8]) -> Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        var compared: Int?
        for field in self.fields where field.isSent && bytes.matches(field.name, lowercase: name) {
            guard let value else { return false }
            var position = compared ?? 0
            if compared != nil {
                guard position + 2 <= value.count, value[position] == UInt8(ascii: ","),
                    value[position + 1] == UInt8(ascii: " ")
                else { return false }
                position += 2
            }
            guard position + field.value.count <= value.count else { return false }
            for offset in 0..<field.value.count where bytes[field.value.lower + offset] != value[position + offset] {
                return false
            }
            compared = position + field.value.count
        }
        return compared == value?.count
    }
}

/// How a route changes a request's fields on their way upstream, as far as `Vary` can see it.
package struct SentFields: Sendable {
    /// The name of the field that carries the token, in lower case.
    let injectedName: [UInt8]
    /// ``injectedName`` with `-` for each `_`: such a field of the caller's does not pass either.
    let injectedTwin: [UInt8]
    let asksForIdentity: Bool
    let appendsForwarded: Bool

    /// - Parameters:
    ///   - injectedName: in any case.
    ///   - asksForIdentity: `Accept-Encoding` is the same for all callers.
    ///   - appendsForwarded: the forwarding fields tell the caller's address.
    package init(injectedName: String, asksForIdentity: Bool, appendsForwarded: Bool) {
        self.injectedName = Array(injectedName.lowercased().utf8)
        self.injectedTwin = self.injectedName.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
        self.asksForIdentity = asksForIdentity
        self.appendsForwarded = appendsForwarded
    }

    /// Whether a field of that name is the same in every request, or is decided by the key of a stored response.
    func isConstant(_ name: [UInt8]) -> Bool {
        name == self.injectedName || name == self.injectedTwin || name == Array("host".utf8)
            || self.asksForIdentity && name == Array("accept-encoding".utf8)
    }

    /// Whether a field of that name differs from caller to caller by what the gateway writes.
    func tellsOfCaller(_ name: [UInt8]) -> Bool {
        self.appendsForwarded && (name == Array("forwarded".utf8) || name.starts(with: Array("x-forwarded-".utf8)))
    }
}

extension UInt8 {
    /// `-` for `_`, and any other character as it is.
    fileprivate var hyphenated: UInt8 { self == UInt8(ascii: "_") ? UInt8(ascii: "-") : self }
}
