internal import TokenModel

extension SettingsReader {
    /// Reads only where the admin API is and where its tokens are, or throws every fault that bears on it: a gateway that
    /// runs can be spoken with whatever became of the rest of the file and of what that refers to.
    package func readAdmin(_ text: String) throws(SettingsError) -> AdminSettings {
        let root = try self.root(of: text)
        let reading = root.reading
        guard let section = Section<RootKey>(root) else { throw SettingsError(.invalid, reading.faults) }
        let settings = AdminSettings(
            section.section(.admin, of: AdminKey.self),
            state: section.stateDirectory(reading.surroundings),
            besides: []
        )
        let faults = reading.faults.filter(Self.bearsOnAdmin)
        guard faults.isEmpty else { throw SettingsError(.invalid, faults) }
        return settings
    }

    /// Whether a fault is that of a key that was read, or of one that was probably meant to be such.
    private static func bearsOnAdmin(_ fault: SettingsFinding) -> Bool {
        let key = String(fault.path.prefix { $0 != "." && $0 != "[" })
        let mine = [RootKey.admin, .stateDirectory].map(\.rawValue)
        guard !key.isEmpty, !mine.contains(key) else { return true }
        guard !RootKey.all.contains(key), let meant = Suggestion.closest(to: key, among: RootKey.all) else {
            return false
        }
        return mine.contains(meant)
    }
}
