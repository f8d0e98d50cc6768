/// Why a configuration could not be taken. Equal when the codes are equal; the program ends with exit code 78.
package struct SettingsError: Error, Sendable {
    package enum Code: String, Sendable {
        /// The file could not be read at all.
        case unreadable
        /// The file was read and has faults.
        case invalid
    }

    package let code: Code
    /// All that is wrong, in the order of the file; at least one.
    package let faults: [SettingsFinding]

    init(_ code: Code, _ faults: [SettingsFinding]) {
        self.code = code
        self.faults = faults.sorted(by: SettingsFinding.precedes)
    }
}

extension SettingsError: Equatable {
    package static func == (left: SettingsError, right: SettingsError) -> Bool { left.code == right.code }
}

extension SettingsError: CustomStringConvertible {
    /// The faults, one a line.
    package var description: String { self.faults.map(\.description).joined(separator: "\n") }
}
