internal import TokenModel

/// Which store a record belongs to: drawn once, when the store is first opened, and carried along when it is moved.
package struct StoreID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}
