package import OAuth

/// What a provider's section leaves to its preset.
package struct PresetSettings: Equatable, Sendable {
    package let preset: ProviderPreset
    /// The keys that it filled, as the file would name them.
    package let filled: [String]
}
