internal import ArgumentParser
internal import MockServers
internal import TextCoding

/// A duration on the command line. Its description is the text that the user wrote.
struct DurationArgument: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration
    let description: String

    init?(argument: String) {
        guard let duration = DurationText.parse(argument) else { return nil }
        self.duration = duration
        self.description = argument
    }

    /// A default value.
    init(seconds: Int64) {
        self.duration = .seconds(seconds)
        self.description = "\(seconds)s"
    }
}
