import Proxy
import Testing
import TokenModel

@Suite struct SlotTableTests {
    private static let first = AccountID("customer-1")
    private static let second = AccountID("customer-2")

    @Test func `a slot is found by the account and by the bytes of its name`() {
        let slots = SlotTable()
        slots.append(Rig.account, requiresApproval: false)
        let number = slots.add(Self.first, requiresApproval: true)
        #expect(slots.number(of: Rig.account) == 0)
        #expect(number < 0 && slots.number(of: Self.first) == number)
        #expect(slots[number].account == Self.first && slots[number].requiresApproval)
        let name = Array("customer-1".utf8)
        #expect(slots.number(of: name.span) == number)
        #expect(slots.number(of: name.span.extracting(0..<9)) == nil)
        #expect(slots.number(of: Self.second) == nil)
    }

    @Test func `a number whose slot is gone finds no slot, whoever has its place by now`() {
        let slots = SlotTable()
        let gone = slots.add(Self.first, requiresApproval: false)
        slots.removeLeaving(but: SlotUsers())
        let number = slots.add(Self.second, requiresApproval: false)
        #expect(slots.memberCount == 1)
        #expect(number != gone)
        #expect(slots.contains(number) && !slots.contains(gone))
        #expect(slots[number].account == Self.second)
        #expect(slots[gone].account != Self.second && !slots[gone].hasCredential)
        // When the late user of the old number lets it go, the other slot stays.
        slots.keep(number)
        slots.letGo(gone)
        slots.removeLeaving(but: SlotUsers())
        #expect(slots.number(of: Self.second) == number)
    }

    @Test(arguments: [true, false])
    func `a slot that leaves stays while a request uses it, and longer if it is kept`(isKept: Bool) {
        let slots = SlotTable()
        let number = slots.add(Self.first, requiresApproval: false)
        slots.removeLeaving(but: SlotUsers(senders: [number]))
        slots.removeLeaving(but: SlotUsers(holders: [number]))
        #expect(slots.contains(number))
        if isKept { slots.keep(number) }
        slots.removeLeaving(but: SlotUsers())
        #expect(slots.contains(number) == isKept)
        slots.letGo(number)
        slots.removeLeaving(but: SlotUsers())
        #expect(slots.memberCount == 0)
    }

    @Test func `the slot of an account that the configuration names never leaves`() {
        let slots = SlotTable()
        slots.append(Rig.account, requiresApproval: false)
        slots.letGo(0)
        slots.removeLeaving(but: SlotUsers())
        #expect(slots.number(of: Rig.account) == 0 && slots[0].account == Rig.account)
    }

    @Test func `a member that the configuration names from now on has one slot under two numbers`() {
        let slots = SlotTable()
        let number = slots.add(Self.first, requiresApproval: false)
        slots.append(Self.first, requiresApproval: false)
        #expect(slots.number(of: Self.first) == 0)
        #expect(slots[0] === slots[number])
        slots.removeLeaving(but: SlotUsers())
        #expect(slots.memberCount == 0 && slots.number(of: Self.first) == 0)
    }

    @Test func `many slots leave in parts, and a used one does not hold up the others`() {
        let slots = SlotTable()
        let numbers = (0..<10_000).map { slots.add(AccountID("customer-\($0)"), requiresApproval: false) }
        let used = SlotUsers(senders: [numbers[9_999]])
        slots.removeLeaving(but: used)
        #expect((5_000..<10_000).contains(slots.memberCount))
        for _ in 1...3 { slots.removeLeaving(but: used) }
        #expect(slots.memberCount == 1)
        #expect(slots.number(of: AccountID("customer-9999")) == numbers[9_999])
    }

    @Test func `slots come and go as in a dictionary`() {
        var generator = SeededGenerator(26)
        let slots = SlotTable()
        var model: [AccountID: Int] = [:]
        for _ in 0..<20_000 {
            let account = AccountID("customer-\(Int.random(in: 0..<500, using: &generator))")
            if let number = model.removeValue(forKey: account) {
                slots.letGo(number)
                slots.removeLeaving(but: SlotUsers())
            } else {
                let number = slots.add(account, requiresApproval: false)
                slots.keep(number)
                model[account] = number
            }
        }
        #expect(slots.memberCount == model.count)
        for index in 0..<500 {
            let account = AccountID("customer-\(index)")
            #expect(slots.number(of: account) == model[account])
            if let number = model[account] { #expect(slots[number].account == account) }
        }
    }
}
