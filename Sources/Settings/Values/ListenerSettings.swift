/// One place where callers connect.
package struct ListenerSettings: Equatable, Sendable {
    package let address: CallerAddress
}
