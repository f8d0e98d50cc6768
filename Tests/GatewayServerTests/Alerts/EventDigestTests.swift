import GatewayServer
import Testing
import TokenModel

@Suite struct EventDigestTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)
    private let customers: AccountFamily
    private var digest = EventDigest(length: .seconds(60))

    init() throws {
        self.customers = try #require(AccountFamily(pattern: "customer-*"))
    }

    /// - Parameter seconds: the time after ``start``.
    /// - Returns: the event, if it comes out at once.
    private mutating func add(
        _ account: String,
        _ kind: RefreshEvent.Kind = .refreshFailed,
        at seconds: Int = 0,
        of family: AccountFamily? = nil
    ) -> String? {
        let now = self.start.advanced(by: .seconds(seconds))
        let sum = self.digest.add(.sample(account, kind), AccountID(account), of: family ?? self.customers, now: now)
        return sum.map(Self.text)
    }

    private mutating func due(at seconds: Int) -> [String] {
        self.digest.due(now: self.start.advanced(by: .seconds(seconds))).map(Self.text)
    }

    private static func text(_ sum: EventDigest.Sum) -> String {
        "\(sum.count) \(sum.first.kind) of \(sum.family): \(sum.accounts.map(\.rawValue).joined(separator: " "))"
    }

    @Test mutating func `the first event opens a sum, which comes out after a minute`() {
        let atOnce = [self.add("customer-1", at: 0), self.add("customer-2", at: 59)]
        #expect(atOnce == [nil, nil])
        #expect(self.digest.nextDue == self.start.advanced(by: .seconds(60)))
        let (early, late, again) = (self.due(at: 59), self.due(at: 60), self.due(at: 200))
        #expect(early == [])
        #expect(late == ["2 refreshFailed of customer-*: customer-1 customer-2"])
        #expect(again == [])
        #expect(self.digest.nextDue == nil)
    }

    @Test mutating func `the next event opens another sum`() {
        _ = self.add("customer-1", at: 0)
        _ = self.due(at: 60)
        _ = self.add("customer-2", at: 61)
        let (early, late) = (self.due(at: 120), self.due(at: 121))
        #expect(early == [])
        #expect(late == ["1 refreshFailed of customer-*: customer-2"])
    }

    @Test mutating func `each family and each kind has a sum of its own`() throws {
        let partners = try #require(AccountFamily(pattern: "partner-*"))
        _ = self.add("customer-1", .reauthorizationRequired, at: 1)
        _ = self.add("customer-1", .refreshFailed, at: 0)
        _ = self.add("partner-1", .refreshFailed, at: 0, of: partners)
        let due = self.due(at: 61)
        #expect(
            due == [
                "1 refreshFailed of customer-*: customer-1", "1 refreshFailed of partner-*: partner-1",
                "1 reauthorizationRequired of customer-*: customer-1",
            ]
        )
    }

    @Test mutating func `a sum names 20 accounts, each once, and counts all events`() {
        for number in 0..<100_000 { _ = self.add("customer-\(number / 2)") }
        let sums = self.digest.flush()
        #expect(sums.map(\.count) == [100_000])
        #expect(sums.first?.accounts == (0..<20).map { AccountID("customer-\($0)") })
    }

    @Test mutating func `the first of a series of awaited approvals comes out at once, and one sum a minute follows`() {
        let first = self.add("customer-1", .approvalRequired, at: 0)
        let others = [1, 2].map { self.add("customer-\($0 + 1)", .approvalRequired, at: $0) }
        let sum = self.due(at: 60)
        let next = self.add("customer-4", .approvalRequired, at: 61)
        let later = self.due(at: 120)
        #expect(first == "1 approvalRequired of customer-*: customer-1")
        #expect(others == [nil, nil])
        #expect(sum == ["2 approvalRequired of customer-*: customer-2 customer-3"])
        #expect(next == nil)
        #expect(later == ["1 approvalRequired of customer-*: customer-4"])
    }

    @Test mutating func `a sum has the time and reason of its first event, not of the one that came out at once`() {
        _ = self.add("customer-1", .approvalRequired, at: 0)
        _ = self.add("customer-2", .approvalRequired, at: 1)
        #expect(self.digest.flush().map(\.first.account) == [AccountID("customer-2")])
    }

    @Test mutating func `a minute without awaited approvals ends their series`() {
        _ = self.add("customer-1", .approvalRequired, at: 0)
        let silence = self.due(at: 60)
        #expect(silence == [])
        #expect(self.digest.nextDue == nil)
        let next = self.add("customer-2", .approvalRequired, at: 61)
        #expect(next == "1 approvalRequired of customer-*: customer-2")
    }

    @Test mutating func `a flush closes all sums, and none is empty`() {
        _ = self.add("customer-1", .approvalRequired)
        _ = self.add("customer-2", .refreshFailed)
        let sums = self.digest.flush().map(Self.text)
        #expect(sums == ["1 refreshFailed of customer-*: customer-2"])
        #expect(self.digest.flush().isEmpty)
        #expect(self.digest.nextDue == nil)
    }
}
