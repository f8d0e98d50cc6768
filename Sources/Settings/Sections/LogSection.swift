/// The keys of `log`.
enum LogKey: String, Vocabulary {
    case level, format, access
}

extension LogSettings.Level: Vocabulary {}

extension LogSettings.Format: Vocabulary {}

extension LogSettings {
    init(_ section: Section<LogKey>) {
        self.level = section.read(.level) { $0.choice(Level.self) } ?? .info
        self.format = section.read(.format) { $0.choice(Format.self) } ?? .json
        self.access = section.read(.access) { $0.flag() } ?? true
    }
}
