import HTTPWire
package import NIOCore
package import TokenModel

/// Coarse time of one event loop: how often its sweep has run. Reading it costs nothing, so requests are stamped with it.
package struct CoarseTime: Equatable, Sendable {
    /// How often the sweep runs. An observed epoch is up to this old when it is made, so limits are exceeded only past one more.
    package static let period = Duration.milliseconds(250)
    package static let start = CoarseTime(count: 0)

    private var count: Int64

    /// How long ago `earlier` was, to within one ``period`` either way.
    package func duration(since earlier: CoarseTime) -> Duration {
        Self.period * Double(self.count - earlier.count)
    }

    /// Written out since it is asked with each request: what the compiler makes is called through a table.
    package static func == (left: CoarseTime, right: CoarseTime) -> Bool { left.count == right.count }

    /// The sweep has run once more.
    package mutating func advance() { self.count += 1 }
}

/// What all that belongs to one event loop asks of it with each request: an object of its own, so that nobody holds the loop
/// for it, nor asks whether that is there still.
final class LoopStatus {
    /// How often the sweep has run.
    private(set) var coarseNow = CoarseTime.start
    /// The loop takes no more requests.
    private(set) var isDraining = false

    /// The sweep runs.
    func advance() { self.coarseNow.advance() }

    func drain() { self.isDraining = true }
}

/// The `Date` line of an event loop's own answers (RFC 9110 §6.6.1), written anew once a second at most.
package struct DateLine {
    private var second: Int64?
    private var line = ByteBuffer()

    package init() {}

    /// The line with its CRLF.
    package mutating func bytes(at now: WallTime) -> ByteBuffer {
        let second = now.millisecondsSince1970 / 1_000
        if self.second != second {
            self.second = second
            self.line = ByteBuffer(string: "Date: \(now.httpDate)\r\n")
        }
        return self.line
    }
}
