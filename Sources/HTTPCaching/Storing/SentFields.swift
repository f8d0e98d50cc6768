import HTTPWire

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
