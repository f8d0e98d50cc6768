/// Maps the targets in an upstream's responses back to the gateway. A target below the route's upstream becomes a path
/// below the route's prefix, so that a caller that follows it comes through the gateway again.
///
/// Everything else stays byte for byte: other hosts, other paths, relative targets, and targets with dot segments,
/// which might lead out of the prefix, or with `\` or a tab, which a browser takes for a slash or ignores.
///
/// A class, since each response retains it, and copying a struct would retain each of its parts.
package final class ResponseTargets: Sendable {
    /// `http` or `https`, in lower case.
    private let scheme: [UInt8]
    /// Host, and port if it is not the scheme's, in lower case.
    private let authority: [UInt8]
    /// The scheme's own port, which may stand behind the host too.
    private let standardPort: [UInt8]
    /// The beginning of a path at the upstream, with `/` at its end.
    private let path: [UInt8]
    /// What the caller gets in its place, with `/` at its end.
    private let prefix: [UInt8]

    /// - Parameters:
    ///   - scheme: of the upstream, `http` or `https`.
    ///   - authority: of the upstream, with its port if that is not the scheme's.
    ///   - upstreamPath: beginning and ending with `/`.
    ///   - prefix: the route's path as it stands in a URL, beginning and ending with `/`.
    ///   - strip: whether the upstream's path replaces the prefix; otherwise it stands in front of the prefix.
    package init(scheme: String, authority: String, upstreamPath: String, prefix: String, strip: Bool) {
        self.scheme = Array(scheme.lowercased().utf8)
        self.authority = Array(authority.lowercased().utf8)
        self.standardPort = Array((scheme.lowercased() == "https" ? ":443" : ":80").utf8)
        self.path = Array(upstreamPath.utf8) + (strip ? [] : Array(prefix.utf8.dropFirst()))
        self.prefix = Array(prefix.utf8)
    }

    /// The value that the caller gets for a field that ``KnownField/isTarget``, or `nil` if the value stays.
    package func mapped(_ field: Field, in bytes: Span<UInt8>) -> [UInt8]? {
        switch field.known {
        case .link: self.mappedLink(field.value, in: bytes)
        case .refresh: self.mappedRefresh(field.value, in: bytes)
        default: self.mappedTarget(field.value, in: bytes)
        }
    }

    /// Maps seconds followed by a target, as browsers read them: `5; url=/x`, `5,URL='/x'`, `5 /x` (WHATWG HTML
    /// §4.2.5.3, shared declarative refresh steps).
    private func mappedRefresh(_ range: ByteRange, in bytes: Span<UInt8>) -> [UInt8]? {
        var start = range.lower
        while start < range.upper, bytes[start].isDigit || bytes[start] == .dot { start += 1 }
        let seconds = start
        start = bytes.endOfSpace(from: start, upTo: range.upper)
        if start < range.upper, bytes[start] == .semicolon || bytes[start] == .comma {
            start = bytes.endOfSpace(from: start + 1, upTo: range.upper)
        }
        guard seconds > range.lower, start > seconds else { return nil }
        if start + 3 <= range.upper, bytes.matches(ByteRange(start, start + 3), "url") {
            let equals = bytes.endOfSpace(from: start + 3, upTo: range.upper)
            if equals < range.upper, bytes[equals] == .equals {
                start = bytes.endOfSpace(from: equals + 1, upTo: range.upper)
            }
        }
        var end = range.upper
        if start < end, bytes[start] == .quote || bytes[start] == 0x27 {
            let quote = bytes[start]
            start += 1
            end = start
            while end < range.upper, bytes[end] != quote { end += 1 }
        }
        return self.mappedTarget(ByteRange(start, end), in: bytes).map { target in
            bytes.copy(range.lower, start) + target + bytes.copy(end, range.upper)
        }
    }

    /// Maps each target in a list of `<target>; parameters` (RFC 8288 §3). Parameters stay, `anchor` too.
    private func mappedLink(_ range: ByteRange, in bytes: Span<UInt8>) -> [UInt8]? {
        // Grown in place: a field may name thousands of targets.
        var mapped: [UInt8] = []
        var hasMapped = false
        /// The position in the field up to which `mapped` is complete.
        var copied = range.lower
        var position = range.lower
        while position < range.upper {
            switch bytes[position] {
            case .quote:
                position = bytes.endOfQuotedString(from: position, upTo: range.upper)
            case 0x3C:
                let start = position + 1
                var end = start
                while end < range.upper, bytes[end] != 0x3E { end += 1 }
                guard end < range.upper else {
                    position = range.upper
                    break
                }
                if let target = self.mappedTarget(ByteRange(start, end), in: bytes) {
                    mapped += bytes.copy(copied, start)
                    mapped += target
                    copied = end
                    hasMapped = true
                }
                position = end + 1
            default:
                position += 1
            }
        }
        guard hasMapped else { return nil }
        return mapped + bytes.copy(copied, range.upper)
    }

    private func mappedTarget(_ range: ByteRange, in bytes: Span<UInt8>) -> [UInt8]? {
        guard let start = self.pathStart(of: range, in: bytes) else { return nil }
        // The empty path of an absolute target is `/` (RFC 9110 §4.2.3).
        if start == range.upper || bytes[start] == .question || bytes[start] == 0x23 {
            guard start > range.lower, self.path.count == 1 else { return nil }
            return self.prefix + bytes.copy(start, range.upper)
        }
        let rest = start + self.path.count
        guard rest <= range.upper else { return nil }
        for index in self.path.indices where bytes[start + index] != self.path[index] { return nil }
        // `//` at the beginning would name another host.
        guard self.prefix.count > 1 || rest == range.upper || bytes[rest] != .slash else { return nil }
        guard !bytes.hasDotSegment(from: rest, upTo: range.upper), !bytes.hasAmbiguity(from: rest, upTo: range.upper)
        else { return nil }
        return self.prefix + bytes.copy(rest, range.upper)
    }

    /// Where the path of a target at the upstream begins; `nil` if the target is relative, or on another server.
    private func pathStart(of range: ByteRange, in bytes: Span<UInt8>) -> Int? {
        guard !range.isEmpty else { return nil }
        var position = range.lower
        if bytes[position] != .slash {
            let end = position + self.scheme.count
            guard end < range.upper, bytes[end] == .colon,
                bytes.matches(ByteRange(position, end), lowercase: self.scheme)
            else { return nil }
            position = end + 1
        } else if range.count == 1 || bytes[position + 1] != .slash {
            return position
        }
        guard position + 1 < range.upper, bytes[position] == .slash, bytes[position + 1] == .slash else { return nil }
        let host = position + 2
        var end = host
        while end < range.upper, bytes[end] != .slash, bytes[end] != .question, bytes[end] != 0x23 { end += 1 }
        return self.isUpstream(ByteRange(host, end), in: bytes) ? end : nil
    }

    private func isUpstream(_ authority: ByteRange, in bytes: Span<UInt8>) -> Bool {
        if bytes.matches(authority, lowercase: self.authority) { return true }
        let host = authority.upper - self.standardPort.count
        guard host > authority.lower else { return false }
        return bytes.matches(ByteRange(host, authority.upper), lowercase: self.standardPort)
            && bytes.matches(ByteRange(authority.lower, host), lowercase: self.authority)
    }
}

extension Span<UInt8> {
    fileprivate func copy(_ lower: Int, _ upper: Int) -> [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(upper - lower)
        for position in lower..<upper { copy.append(self[position]) }
        return copy
    }

    /// The first position from `start` on that is neither a space nor a tab.
    fileprivate func endOfSpace(from start: Int, upTo end: Int) -> Int {
        var position = start
        while position < end, self[position] == .space || self[position] == .tab { position += 1 }
        return position
    }

    /// The position behind the quote that ends the string beginning at `start` (RFC 9110 §5.6.4), or `end` if none
    /// does.
    fileprivate func endOfQuotedString(from start: Int, upTo end: Int) -> Int {
        var position = start + 1
        while position < end {
            if self[position] == .quote { return position + 1 }
            position += self[position] == .backslash ? 2 : 1
        }
        return end
    }

    /// Whether the path from `start` on holds a byte that some readers take for a slash, or leave out.
    fileprivate func hasAmbiguity(from start: Int, upTo end: Int) -> Bool {
        var position = start
        while position < end, self[position] != .question, self[position] != 0x23 {
            if self[position] == .backslash || self[position] == 0x09 { return true }
            position += 1
        }
        return false
    }

    /// Whether the path from `start` on has a segment `.` or `..`, percent-encoded or not.
    fileprivate func hasDotSegment(from start: Int, upTo end: Int) -> Bool {
        var position = start
        var dots = 0
        var others = 0
        while position < end, self[position] != .question, self[position] != 0x23 {
            if self[position] == .slash {
                if others == 0, dots == 1 || dots == 2 { return true }
                dots = 0
                others = 0
            } else if self[position] == .dot {
                dots += 1
            } else if self[position] == .percent, position + 2 < end, self[position + 1] == 0x32,
                self[position + 2].lowercased == 0x65
            {
                dots += 1
                position += 2
            } else {
                others += 1
            }
            position += 1
        }
        return others == 0 && (dots == 1 || dots == 2)
    }
}
