internal import TokenModel
internal import Yams

/// Parses the text of a configuration file into settings.
///
/// It reads nothing else, except through ``SettingsEnvironment`` for the files and variables that the text refers to.
package struct SettingsReader: Sendable {
    /// The name of the file in faults.
    private let file: String
    private let surroundings: SettingsEnvironment

    package init(file: String, surroundings: SettingsEnvironment) {
        self.file = file
        self.surroundings = surroundings
    }

    /// Parses `text`, or throws all of its faults. A text that is not YAML has a single fault, at the position where it
    /// stops being YAML.
    package func read(_ text: String) throws(SettingsError) -> GatewaySettings {
        let root = try self.root(of: text)
        let settings = Section<RootKey>(root).map { GatewaySettings($0, in: root.reading) }
        guard let settings, root.reading.faults.isEmpty else { throw SettingsError(.invalid, root.reading.faults) }
        return settings
    }

    /// The root of the document. An empty file is a fault.
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
    /// The root of the document; `nil` if it is empty.
    fileprivate var root: Place? {
        guard let node = self.document.root else { return nil }
        let start = node.mark.map { SourcePosition($0) } ?? .start
        let place = Place(node: node, path: "", keyPosition: start, reading: self)
        if case .nothing = place.content { return nil }
        return place
    }
}

extension SettingsReader {
    /// Reads only the address of the admin API and the location of its tokens, or throws the faults that affect these.
    /// A command can then talk to a running gateway even if the rest of the file, or a file that it refers to, is
    /// broken.
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

    /// Whether a fault concerns a key that ``readAdmin(_:)`` reads, or a misspelling of such a key.
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
