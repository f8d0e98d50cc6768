import Foundation

extension Program {
    /// Whether SIGSTOP has stopped the process. In `/proc/PID/stat`, the state follows the name in parentheses.
    var standsStill: Bool {
        let line = (try? String(contentsOfFile: "/proc/\(self.id)/stat", encoding: .utf8)) ?? ""
        return line.split(separator: ")").last?.split(separator: " ").first == "T"
    }
}
