/// Why an address can't be used for a provider. Equal when the codes are equal.
package struct ProviderURLError: Error, Sendable {
    /// What is wrong with it.
    package enum Code: Sendable, CaseIterable {
        /// Not an absolute `https` or `http` URL, or with parts that have no place in one.
        case malformed
        /// `http` to a host that is not loopback: tokens would travel in the clear.
        case cleartext
    }

    /// Decides equality.
    package let code: Code
    /// For the operator: what is wrong and what would help.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ProviderURLError: Equatable {
    package static func == (left: ProviderURLError, right: ProviderURLError) -> Bool { left.code == right.code }
}
