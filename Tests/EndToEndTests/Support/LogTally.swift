import Synchronization

/// Counts the lines of a log that comes in pieces.
final class LogTally: Sendable {
    private struct State {
        var requests = 0
        var lost = 0
        /// The beginning of a line whose end has not come.
        var rest: Substring = ""
    }

    private let state = Mutex(State())

    /// Lines that tell of a request.
    var requests: Int { self.state.withLock { $0.requests } }
    /// Lines that the log says it has lost.
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
