import Approvals
import TokenModel

extension BootInstant {
    /// Seconds after the first approval of a test.
    static func at(_ second: Int) -> BootInstant {
        BootInstant(nanoseconds: 0).advanced(by: .seconds(1_000_000 + second))
    }
}

extension WallTime {
    static func at(_ second: Int) -> WallTime {
        WallTime(millisecondsSince1970: 1_767_225_600_000).advanced(by: .seconds(second))
    }
}

extension Moment {
    static func at(_ second: Int) -> Moment { .at(wall: second, boot: second) }

    static func at(wall: Int, boot: Int) -> Moment { Moment(boot: .at(boot), wall: .at(wall)) }
}

extension ApprovalRecord {
    /// An approval of 15 min, given at that second.
    static func sample(at second: Int, for duration: Int = 900, knowing epochs: KillEpochs = KillEpochs()) -> Self {
        ApprovalRecord(
            until: .at(second + duration),
            by: "anne",
            at: .at(second),
            observedEpoch: epochs.last,
            observedEntry: epochs.lastEntry
        )
    }
}

extension ApprovalTable {
    /// Reads an approval of `account` that was given at that second, at `now` or at once.
    mutating func approve(
        _ account: AccountID,
        at second: Int,
        for duration: Int = 900,
        knowing epochs: KillEpochs = KillEpochs(),
        now: Int? = nil
    ) -> (ends: [String], released: [Waiter]) {
        let record = ApprovalRecord.sample(at: second, for: duration, knowing: epochs)
        let changes = self.take([account: record], known: epochs, provider: { _ in acme }, now: .at(now ?? second))
        return (changes.ends.texts, changes.released)
    }
}

extension [(account: AccountID, until: BootInstant)] {
    /// Each as `alice 900`, the second of its end, or `alice over`.
    var texts: [String] {
        self.map { account, until in
            let seconds = BootInstant.at(0).duration(to: until).components.seconds
            return "\(account) \(until == .distantPast ? "over" : "\(seconds)")"
        }
    }
}
