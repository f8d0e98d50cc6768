import HTTPWire
package import NIOCore
internal import TextCoding
package import TokenModel

/// Coarse time of one event loop: the number of sweeps so far. Reading it costs nothing, so it serves as the timestamp
/// of requests.
package struct CoarseTime: Equatable, Sendable {
    /// How often the sweep runs. A timestamp is up to one period old when it is taken, so a limit counts as exceeded
    /// only one period after its end.
    package static let period = Duration.milliseconds(250)
    package static let start = CoarseTime(count: 0)

    private var count: Int64

    /// Time since `earlier`, accurate to one ``period`` either way.
    package func duration(since earlier: CoarseTime) -> Duration {
        Self.period * Double(self.count - earlier.count)
    }

    /// Written by hand since each request compares times: the synthesized operator is called through a table.
    package static func == (left: CoarseTime, right: CoarseTime) -> Bool { left.count == right.count }

    /// Counts one more sweep.
    package mutating func advance() { self.count += 1 }
}

/// What the objects of one event loop need from it at each request. It is an object of its own, so that none of them
/// has to retain the loop or check that the loop still exists.
final class LoopStatus {
    /// Number of sweeps so far.
    private(set) var coarseNow = CoarseTime.start
    /// The loop takes no more requests.
    private(set) var isDraining = false

    /// Called at each sweep.
    func advance() { self.coarseNow.advance() }

    func drain() { self.isDraining = true }
}

/// The `Date` line of an event loop's local replies (RFC 9110 §6.6.1), formatted at most once a second.
package struct DateLine {
    private var second: Int64?
    private var line = ByteBuffer()

    package init() {}

    /// The line with its CRLF.
    package mutating func bytes(at now: WallTime) -> ByteBuffer {
        let second = now.millisecondsSince1970 / 1_000
        if self.second != second {
            self.second = second
            self.line = ByteBuffer(string: "Date: \(HTTPDate.text(of: now))\r\n")
        }
        return self.line
    }
}
