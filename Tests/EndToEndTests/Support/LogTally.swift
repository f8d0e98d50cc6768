import Synchronization

/// Counts the lines of a log that arrives in pieces.
final class LogTally: Sendable {
    private struct State {
        var requests = 0
        var lost = 0
        /// The beginning of a line that is not yet complete.
        var rest: Substring = ""
    }

    private let state = Mutex(State())

    /// The number of lines that report a request.
    var requests: Int { self.state.withLock { $0.requests } }
    /// The number of lines that the log reports as lost.
    var lost: Int { self.state.withLock { $0.lost } }

    func add(_ piece: String) {
        self.state.withLock { state in
            var lines = (state.rest + piece).split(separator: "\n", omittingEmptySubsequences: false)
            state.rest = lines.popLast() ?? ""
            for line in lines where line.contains(#""message":"request""#) || line.contains("log.lost") {
                if let lost = line.firstMatch(of: /"log.lost":(\d+)/)?.output.1 {
                    state.lost += Int(lost) ?? 0
                } else {
                    state.requests += 1
                }
            }
        }
    }
}
