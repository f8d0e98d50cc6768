import GatewayServer
import Testing
import TokenModel

@Suite struct UnlockAttemptsTests {
    private let start = BootInstant(nanoseconds: 1_000_000_000)

    @Test(arguments: [(1, nil), (4, nil), (5, 2), (6, 4), (7, 8), (12, 256), (13, 300), (40, 300)] as [(Int, Int?)])
    func `from the fifth failure on, each doubles the pause before the next attempt`(failures: Int, seconds: Int?) {
        var attempts = UnlockAttempts()
        for _ in 0..<failures { attempts.failed(at: self.start) }
        #expect(attempts.delay(at: self.start) == seconds.map { .seconds($0) })
    }

    @Test func `an attempt is let in when the pause is over`() {
        var attempts = UnlockAttempts()
        for _ in 0..<5 { attempts.failed(at: self.start) }
        #expect(attempts.delay(at: self.start.advanced(by: .seconds(1))) == .seconds(1))
        #expect(attempts.delay(at: self.start.advanced(by: .seconds(2))) == nil)
    }
}
