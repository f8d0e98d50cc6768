/// What the cache did with a request, for `Cache-Status` (RFC 9211).
package struct CacheStatus: Equatable, Sendable {
    /// Where the response came from.
    package enum Outcome: Equatable, Sendable {
        /// From memory.
        case hit
        /// From the upstream.
        case forwarded(ForwardReason)
        /// From the gateway itself: neither memory nor upstream had one.
        case neither
    }

    package var outcome: Outcome
    /// The status of the upstream's response, where it differs from what the caller got.
    package var forwardStatus: Int?
    /// The upstream's response is being stored.
    package var isStored = false
    /// The response was fetched for another request with the same key.
    package var isCollapsed = false
    /// For how many seconds the response is still fresh; negative if it is stale.
    package var ttl: Int?
    /// A token that says more.
    package var detail: StaticString?

    package init(_ outcome: Outcome) { self.outcome = outcome }

    /// A stored response, of which `ttl` is left.
    package static func hit(ttl: Int) -> CacheStatus {
        var status = CacheStatus(.hit)
        status.ttl = ttl
        return status
    }

    /// The upstream was asked. The parameters are the properties of their names.
    package static func forwarded(
        _ reason: ForwardReason,
        status forwardStatus: Int? = nil,
        ttl: Int? = nil,
        detail: StaticString? = nil,
        isStored: Bool = false,
        isCollapsed: Bool = false
    ) -> CacheStatus {
        var status = CacheStatus(.forwarded(reason))
        status.forwardStatus = forwardStatus
        status.ttl = ttl
        status.detail = detail
        status.isStored = isStored
        status.isCollapsed = isCollapsed
        return status
    }

    /// The lines for the caller, each with its CRLF.
    ///
    /// - Parameter age: of a stored response, in seconds: `Age` (RFC 9111 §5.1).
    package func lines(age: Int? = nil) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(128)
        if let age {
            lines.append("Age: ")
            lines.append(age)
            lines.append("\r\n")
        }
        lines.append("Cache-Status: martlet")
        switch self.outcome {
        case .hit: lines.append("; hit")
        case .forwarded(let reason):
            lines.append("; fwd=")
            lines.append(contentsOf: reason.rawValue.utf8)
        case .neither: break
        }
        if let status = self.forwardStatus {
            lines.append("; fwd-status=")
            lines.append(status)
        }
        if let ttl = self.ttl {
            lines.append("; ttl=")
            lines.append(ttl)
        }
        if self.isStored { lines.append("; stored") }
        if self.isCollapsed { lines.append("; collapsed") }
        if let detail = self.detail {
            lines.append("; detail=")
            lines.append(detail)
        }
        lines.append("\r\n")
        return lines
    }

    /// By its line: a text in the program has no `==`.
    package static func == (left: CacheStatus, right: CacheStatus) -> Bool { left.lines() == right.lines() }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { unsafe self.append(contentsOf: $0) }
    }

    /// In decimal digits.
    fileprivate mutating func append(_ number: Int) {
        if number < 0 { self.append(UInt8(ascii: "-")) }
        if number.magnitude >= 10 { self.append(Int(number.magnitude / 10)) }
        self.append(UInt8(ascii: "0") + UInt8(number.magnitude % 10))
    }
}
