package import TokenModel

/// Counts requests with a wrong admin token, and determines when to record the count: a second after the first, then at
/// most once a minute, at most ten times in a burst and twice an hour in the long run.
///
/// An attacker who tries tokens without end thus causes fewer than 60 records a day, and each attempt is in one of
/// them.
package struct RefusalCounter: Sendable {
    /// The content of one record.
    package struct Summary: Equatable, Sendable {
        package let count: Int
        /// The address that the last of them came from.
        package let last: String?
    }

    private var count = 0
    private var last: String?
    private var first = BootInstant.distantPast
    private var recorded = BootInstant.distantPast
    /// When the cost of all records so far is paid off. Each record costs ``price``.
    private var paidAt = BootInstant.distantPast

    private static let delay = Duration.seconds(1)
    private static let pause = Duration.seconds(60)
    private static let price = Duration.seconds(1_800)
    private static let atOnce = 10

    package init() {}

    /// Counts one more refusal.
    package mutating func refused(from address: String?, at now: BootInstant) {
        if self.count == 0 { self.first = now }
        self.count += 1
        self.last = address
    }

    /// When to call ``take(at:)``; `nil` where there is nothing to record.
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

    /// The refusals to record at `now`; `nil` where there are none or it is too early.
    package mutating func take(at now: BootInstant) -> Summary? {
        guard let due = self.due, due <= now else { return nil }
        self.recorded = now
        self.paidAt = max(self.paidAt, now).advanced(by: Self.price)
        return self.takeAll()
    }

    /// All refusals that are left, whether or not they are due: for the end of the process.
    package mutating func takeAll() -> Summary? {
        guard self.count > 0 else { return nil }
        defer { self.count = 0 }
        return Summary(count: self.count, last: self.last)
    }

    /// Returns refusals that could not be recorded. They go into the next record.
    package mutating func putBack(_ summary: Summary) {
        self.count += summary.count
    }
}
