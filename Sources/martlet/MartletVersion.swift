/// Which martlet this is.
package enum MartletVersion {
    /// By the rules of semantic versioning.
    package static let current = "0.1.0"
}
