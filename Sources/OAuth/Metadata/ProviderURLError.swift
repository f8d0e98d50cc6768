/// Why an address can't be used for a provider. Equal when the codes are equal.
package struct ProviderURLError: Error, Sendable {
    package enum Code: Sendable, CaseIterable {
        /// Not an absolute `https` or `http` URL, or with parts that have no place in one.
        case malformed
        /// `http` to a host that is not loopback: tokens would travel in the clear.
        case cleartext
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ProviderURLError: Equatable {
    package static func == (left: ProviderURLError, right: ProviderURLError) -> Bool { left.code == right.code }
}
