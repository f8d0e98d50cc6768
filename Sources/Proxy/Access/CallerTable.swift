package import HTTPWire
import NIOCore

/// Who may use the gateway, by what proves it.
package struct CallerTable: Sendable {
    /// `nil` where the configuration names no callers.
    ///
    /// How long a look-up takes tells nothing of a key: what it may tell of is the digest, and nobody can choose a key by
    /// its digest or come from one to the other.
    private let callers: [KeyDigest: Caller]?
    private let anyone: Caller
    private let webPages: WebPageRule
    private let edition: Edition

    /// Tells one table's callers from those of the table that it has taken the place of, by which object it is.
    final class Edition: Sendable {}

    /// - Parameters:
    ///   - plans: `nil` for a gateway that anyone may use who can connect, but for web pages.
    ///   - table: the routes that callers are let use.
    ///   - hosts: names and addresses of the listeners, as they stand in a `Host` field.
    package init(_ plans: [CallerPlan]?, routes table: RouteTable, hosts: [String] = []) {
        let edition = Edition()
        self.edition = edition
        self.anyone = Caller(of: edition)
        self.callers = plans.map { plans in
            var callers: [KeyDigest: Caller] = [:]
            for plan in plans {
                let caller = Caller(plan, for: table, of: edition)
                for key in plan.keys { callers[key] = caller }
            }
            return callers
        }
        self.webPages = WebPageRule(hosts: table.routes.compactMap(\.plan.host) + hosts)
    }

    /// Finds out who sends a request.
    ///
    /// - Parameter unverified: the connection that it came by; it remembers who proved itself on it.
    /// - Throws: ``GatewayError/Code/callerUnknown``, or ``GatewayError/Code/callerForbidden`` for a web page.
    package func authenticate(
        _ request: RequestHead,
        _ unverified: inout UnverifiedCaller
    ) throws(GatewayError) -> Caller {
        guard let callers = self.callers else {
            if !unverified.isOnUnixSocket, let refusal = self.webPages.refusal(of: request) { throw refusal }
            return self.anyone
        }
        let bytes = request.bytes.readableBytesUInt8Span
        guard let key = PresentedKey(request.fields, in: bytes) else {
            throw GatewayError(.callerUnknown, "a request without a key")
        }
        if let caller = unverified.caller(of: self.edition, presenting: key, in: bytes) { return caller }
        guard let digest = key.digest(in: bytes), let caller = callers[digest] else {
            throw GatewayError(.callerUnknown, "a request with a key that no caller has")
        }
        unverified.remember(caller, presenting: key, in: bytes)
        return caller
    }
}
