package import HTTPWire
import NIOCore

/// What an unsafe request makes invalid (RFC 9111 §4.4).
package enum Invalidation {
    /// Whether a response with `status` to `request` invalidates what is stored for its target: the request may have
    /// changed the state there, and it was no error. The safety of an unknown method is unknown; so is that of a method
    /// that a field overrides.
    package static func applies(to request: RequestHead, status: Int) -> Bool {
        guard (200..<400).contains(status) else { return false }
        return switch request.method {
        case .get, .head, .options: request.overridesMethod
        case .post, .put, .delete, .patch, .other: true
        }
    }

    /// The other targets that a response to such a request makes invalid: those that its `Location` and
    /// `Content-Location` name at the same upstream. Each is path and query as a caller asks for it.
    ///
    /// - Parameters:
    ///   - head: the upstream's.
    ///   - request: the caller's, for relative references.
    ///   - targets: of the route.
    package static func targets(
        of head: ResponseHead,
        to request: RequestHead,
        by targets: ResponseTargets
    ) -> [[UInt8]] {
        let bytes = head.bytes.readableBytesUInt8Span
        var found: [[UInt8]] = []
        for field in head.fields {
            switch field.known {
            case .location, .contentLocation: break
            default: continue
            }
            let target = targets.mapped(field, in: bytes) ?? request.resolved(bytes.copy(field.value))
            if let target { found.append(Array(target.prefix { $0 != UInt8(ascii: "#") })) }
        }
        return found
    }
}

extension RequestHead {
    /// A reference relative to the request's path (RFC 3986 §5.2), without dot segments; `nil` for any other.
    fileprivate func resolved(_ reference: [UInt8]) -> [UInt8]? {
        guard let first = reference.first, first != UInt8(ascii: "/") else { return nil }
        let bytes = self.bytes.readableBytesUInt8Span
        let path = bytes.copy(self.target.path)
        if first == UInt8(ascii: "?") { return path + reference }
        let name = reference.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        // A colon in the first segment ends a scheme.
        guard !name.contains(UInt8(ascii: ":")), !name.split(separator: UInt8(ascii: "/")).contains(where: \.isDots),
            let slash = path.lastIndex(of: UInt8(ascii: "/"))
        else { return nil }
        return path[...slash] + reference
    }
}

extension ArraySlice<UInt8> {
    /// `.` or `..`.
    fileprivate var isDots: Bool { self.count <= 2 && self.allSatisfy { $0 == UInt8(ascii: ".") } }
}
