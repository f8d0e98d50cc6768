import Foundation

extension Program {
    /// Whether SIGSTOP holds it. By its line in `/proc`: the state stands behind the name in parentheses.
    var standsStill: Bool {
        let line = (try? String(contentsOfFile: "/proc/\(self.id)/stat", encoding: .utf8)) ?? ""
        return line.split(separator: ")").last?.split(separator: " ").first == "T"
    }
}
