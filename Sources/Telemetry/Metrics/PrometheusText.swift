/// Metrics in the Prometheus text exposition format 0.0.4.
package struct PrometheusText: Sendable {
    /// The type of a metric.
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package typealias Labels = KeyValuePairs<String, String>

    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""
    private var name = ""

    package init() {}

    /// Begins a metric; its samples follow.
    package mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    package mutating func sample(_ labels: Labels = [:], _ value: some BinaryInteger) {
        self.sample("", Array(labels), "\(value)")
    }

    /// The samples of one histogram: a bucket per bound, the sum in seconds and the count.
    package mutating func sample(_ labels: Labels = [:], _ durations: DurationCounts) {
        let labels = Array(labels)
        let cumulative = durations.cumulative
        for (bound, count) in zip(DurationCounts.bounds, cumulative) {
            self.sample("_bucket", labels + [("le", "\(Double(bound) / 1e6)")], "\(count)")
        }
        let all = cumulative.last ?? 0
        self.sample("_bucket", labels + [("le", "+Inf")], "\(all)")
        self.sample("_sum", labels, "\(durations.seconds)")
        self.sample("_count", labels, "\(all)")
    }

    private mutating func sample(_ suffix: String, _ labels: [(key: String, value: String)], _ value: String) {
        let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"" }
        self.text += self.name + suffix
        if !pairs.isEmpty { self.text += "{\(pairs.joined(separator: ","))}" }
        self.text += " \(value)\n"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
