/// Which requests a route takes.
package struct RouteMatch: Hashable, Sendable {
    /// Whole segments with `/` at both ends, in normal form: equal paths are equal texts. Percent-encoded.
    package let path: String
    /// In lower case, without a port, an IPv6 address in brackets; `nil`: any host.
    package let host: String?
}
