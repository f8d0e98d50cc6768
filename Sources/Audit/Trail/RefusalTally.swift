package import TokenModel

/// Counts requests with a wrong admin token, and says when their number is to be recorded: a second after the first, then
/// no more than once a minute, and no more than ten times at once and twice an hour in the long run.
///
/// Whoever tries tokens out without end so makes fewer than 60 records a day, and each attempt is in one of them.
package struct RefusalTally: Sendable {
    /// What a record says.
    package struct Summary: Equatable, Sendable {
        package let count: Int
        /// Where the last of them came from.
        package let last: String?
    }

    private var count = 0
    private var last: String?
    private var first = BootInstant.distantPast
    private var recorded = BootInstant.distantPast
    /// When all that were recorded are paid for, each by ``price``.
    private var paidAt = BootInstant.distantPast

    private static let delay = Duration.seconds(1)
    private static let pause = Duration.seconds(60)
    private static let price = Duration.seconds(1_800)
    private static let atOnce = 10

    package init() {}

    /// One more.
    package mutating func refused(from address: String?, at now: BootInstant) {
        if self.count == 0 { self.first = now }
        self.count += 1
        self.last = address
    }

    /// When to ``take(at:)``; `nil` where there is nothing to record.
    package var due: BootInstant? {
        guard self.count > 0 else { return nil }
        return max(
            self.first.advanced(by: Self.delay),
            max(
                self.recorded.advanced(by: Self.pause),
                self.paidAt.advanced(by: .zero - Self.price * (Self.atOnce - 1))
            )
        )
    }

    /// What is to be recorded at `now`; `nil` where that is nothing yet.
    package mutating func take(at now: BootInstant) -> Summary? {
        guard let due = self.due, due <= now else { return nil }
        self.recorded = now
        self.paidAt = max(self.paidAt, now).advanced(by: Self.price)
        return self.takeAll()
    }

    /// What is left, whenever it would be due: for the end of the process.
    package mutating func takeAll() -> Summary? {
        guard self.count > 0 else { return nil }
        defer { self.count = 0 }
        return Summary(count: self.count, last: self.last)
    }

    /// What could not be recorded goes with the next.
    package mutating func putBack(_ summary: Summary) {
        self.count += summary.count
    }
}
