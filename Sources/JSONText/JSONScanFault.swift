/// Why bytes are not the JSON text that is taken here.
package enum JSONScanFault: Error, Equatable, Sendable {
    case malformed
    /// It ends in the middle.
    case incomplete
    /// Objects and arrays stand in each other more than ``JSONScanner/deepest`` times.
    case tooDeep
}
