/// Parses and formats amounts with a unit: durations (`500ms`, `8s`, `5m`, `24h`) and sizes (`512B`, `64KiB`, `1MiB`).
///
/// A number without a unit is refused, because it doesn't show whether 5 means seconds or milliseconds.
package enum Quantity {
    private static let durations: [(unit: String, milliseconds: Int64)] = [
        ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]
    private static let sizes: [(unit: String, bytes: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]

    /// Parses a duration with a unit of `ms`, `s`, `m` or `h`.
    package static func duration(_ text: String) throws(ValueError) -> Duration {
        let milliseconds = try Self.amount(
            text,
            in: Self.durations.map { ($0.unit, Int($0.milliseconds)) },
            kind: "a duration such as 500ms, 8s, 5m or 24h"
        )
        return .milliseconds(milliseconds)
    }

    /// Parses a size into bytes.
    static func size(_ text: String) throws(ValueError) -> Int {
        try Self.amount(text, in: Self.sizes.map { ($0.unit, $0.bytes) }, kind: "a size such as 512B, 64KiB or 1MiB")
    }

    /// The shortest text for `duration`, which is a whole number of milliseconds.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0 else { return "0s" }
        let unit = Self.durations.first { milliseconds.isMultiple(of: $0.milliseconds) } ?? ("ms", 1)
        return "\(milliseconds / unit.milliseconds)\(unit.unit)"
    }

    /// The shortest text for `size`, in bytes.
    static func text(_ size: Int) -> String {
        guard size != 0 else { return "0B" }
        let unit = Self.sizes.first { size.isMultiple(of: $0.bytes) } ?? ("B", 1)
        return "\(size / unit.bytes)\(unit.unit)"
    }

    private static func amount(
        _ text: String,
        in units: [(unit: String, factor: Int)],
        kind: String
    ) throws(ValueError) -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard !digits.isEmpty else { throw ValueError("expected \(kind)") }
        guard !unit.isEmpty else { throw ValueError("has no unit; write \(kind)") }
        guard let factor = units.first(where: { $0.unit == unit })?.factor else {
            let known = units.reversed().map(\.unit).joined(separator: ", ")
            throw ValueError("has an unknown unit (there are \(known)); write \(kind)")
        }
        guard let number = Int(digits) else { throw ValueError("is too large") }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow else { throw ValueError("is too large") }
        return product
    }
}

extension Duration {
    static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
    static func hours(_ count: Int) -> Duration { .seconds(3_600 * count) }
}
