import MockServers
import Testing

@Suite struct DeviceCodesTests {
    let request = DeviceCodes.Request(account: "a0", scope: "read")

    func book() -> DeviceCodes {
        var book = DeviceCodes()
        book.start(self.request, deviceCode: "d1", userCode: "BCDF-GHJK", at: .second(0))
        return book
    }

    @Test func `polls stay pending until a person approves, then the code works once`() throws {
        var book = self.book()

        #expect(throws: GrantRefusal(.authorizationPending, "")) { try book.poll("d1", at: .second(1)) }
        let approved = book.approve(userCode: "BCDF-GHJK", at: .second(1))
        #expect(approved)
        #expect(try book.poll("d1", at: .second(2)) == ApprovedSignIn(account: "a0", scope: "read", at: .second(1)))
        #expect(throws: GrantRefusal(.invalidGrant, "")) { try book.poll("d1", at: .second(4)) }
    }

    @Test(arguments: [(0.999, GrantRefusal.Code.slowDown), (1, .authorizationPending)])
    func `polls closer than the interval are told to slow down`(gap: Double, code: GrantRefusal.Code) {
        var book = self.book()
        _ = try? book.poll("d1", at: .second(10))

        #expect(throws: GrantRefusal(code, "")) { try book.poll("d1", at: .second(10 + gap)) }
    }

    @Test func `a code that is too old can be neither approved nor redeemed`() {
        var book = self.book()

        let approved = book.approve(userCode: "BCDF-GHJK", at: .second(600))
        #expect(!approved)
        #expect(throws: GrantRefusal(.expiredToken, "")) { try book.poll("d1", at: .second(600)) }
    }

    @Test func `a code keeps the interval and the lifetime it was started with`() throws {
        var book = DeviceCodes()
        book.start(
            self.request,
            deviceCode: "d1",
            userCode: "BCDF-GHJK",
            interval: .seconds(5),
            lifetime: .seconds(20),
            at: .second(0)
        )

        #expect(throws: GrantRefusal(.authorizationPending, "")) { try book.poll("d1", at: .second(1)) }
        #expect(throws: GrantRefusal(.slowDown, "")) { try book.poll("d1", at: .second(5.9)) }
        #expect(throws: GrantRefusal(.authorizationPending, "")) { try book.poll("d1", at: .second(10.9)) }
        #expect(throws: GrantRefusal(.expiredToken, "")) { try book.poll("d1", at: .second(20)) }
    }

    @Test func `another person than the one of the request can approve`() throws {
        var book = self.book()
        let approved = book.approve(userCode: "BCDF-GHJK", as: "a1", at: .second(1))
        #expect(approved)
        #expect(try book.poll("d1", at: .second(2)).account == "a1")
    }

    @Test func `an unknown user code approves nothing`() {
        var book = self.book()
        let approved = book.approve(userCode: "ZZZZ-ZZZZ", at: .second(1))
        #expect(!approved)
        #expect(throws: GrantRefusal(.authorizationPending, "")) { try book.poll("d1", at: .second(1)) }
    }
}
