internal import ArgumentParser

/// Which configuration file is meant.
struct ConfigurationOptions: ParsableArguments {
    /// What is read where nothing is named.
    static let defaultPath = "martlet.yaml"

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("The configuration (default: MARTLET_CONFIG, else martlet.yaml).", valueName: "file")
    )
    var path: String?

    /// The path of the file to read, wherever it is named.
    func path(in environment: [String: String]) -> String {
        self.path ?? environment["MARTLET_CONFIG"].flatMap { $0.isEmpty ? nil : $0 } ?? Self.defaultPath
    }
}
