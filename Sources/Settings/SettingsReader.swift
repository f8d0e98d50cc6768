internal import TokenModel
internal import Yams

/// Turns the text of a configuration file into settings.
///
/// Pure but for what the text refers to, which goes through ``Surroundings``.
package struct SettingsReader: Sendable {
    /// What the file is called in faults.
    private let file: String
    private let surroundings: Surroundings

    package init(file: String, surroundings: Surroundings) {
        self.file = file
        self.surroundings = surroundings
    }

    /// Reads `text`, or throws every fault it has. A text that is not YAML has one fault, where it stops being YAML.
    package func read(_ text: String) throws(SettingsError) -> GatewaySettings {
        let root = try self.root(of: text)
        let settings = Section<RootKey>(root).map { GatewaySettings($0, in: root.reading) }
        guard let settings, root.reading.faults.isEmpty else { throw SettingsError(.invalid, root.reading.faults) }
        return settings
    }

    /// The whole document; a file without one is a fault.
    func root(of text: String) throws(SettingsError) -> Place {
        let document: YAMLDocument
        do throws(YAMLDocument.SyntaxError) {
            document = try YAMLDocument(text)
        } catch {
            throw self.error(error.message, at: error.position)
        }
        let reading = Reading(file: self.file, document: document, surroundings: self.surroundings)
        guard let root = reading.root else {
            throw self.error(
                "the file is empty: providers, accounts and routes are missing; README.md has an example to start from",
                at: .start
            )
        }
        return root
    }

    private func error(_ message: String, at position: SourcePosition) -> SettingsError {
        let fault = SettingsFinding(file: self.file, position: position, path: "", message: message)
        return SettingsError(.invalid, [fault])
    }
}

extension Reading {
    /// The whole document; `nil` where there is nothing in it.
    fileprivate var root: Place? {
        guard let node = self.document.root else { return nil }
        let start = node.mark.map { SourcePosition($0) } ?? .start
        let place = Place(node: node, path: "", keyPosition: start, reading: self)
        if case .nothing = place.content { return nil }
        return place
    }
}

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
