/// Where tokens are kept.
package enum StoreSettings: Equatable, Sendable {
    /// In an SQLite database at `path`, sealed with the key in `sealingKeyFile`; both are made at first start.
    case sqlite(path: String, sealingKeyFile: String)
    /// In this process only: all tokens are gone when it ends.
    case memory
}
