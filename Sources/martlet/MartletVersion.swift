/// The version of this program.
package enum MartletVersion {
    /// In the format of semantic versioning.
    package static let current = "0.1.0"
}
