/// Where tokens are kept.
package enum StoreSettings: Equatable, Sendable {
    /// In an SQLite database at `path`, sealed with the key in `sealingKeyFile`. The first start creates both.
    case sqlite(path: String, sealingKeyFile: String)
    /// In this process only: all tokens are lost when it ends.
    case memory
}
