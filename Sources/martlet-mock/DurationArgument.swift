internal import ArgumentParser
internal import MockServers

/// A duration on the command line, shown as it was written.
struct DurationArgument: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration
    let description: String

    init?(argument: String) {
        guard let duration = DurationText.parse(argument) else { return nil }
        self.duration = duration
        self.description = argument
    }

    /// A default, in seconds.
    init(seconds: Int64) {
        self.duration = .seconds(seconds)
        self.description = "\(seconds)s"
    }
}
