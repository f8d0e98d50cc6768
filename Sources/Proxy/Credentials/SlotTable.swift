import HTTPCaching
package import TokenModel

/// The slots of one event loop, by number and by the account's name. It is a class for the same reason as ``Gateway``.
///
/// An account that the configuration names has the number of its ``RouteTable/slots``, and keeps it. An account of a
/// family, a *member*, gets a slot at its first use on the loop, and loses it when the slot holds no credential any more
/// and no request uses it: names that were used once take no memory. A member's slot has a negative number that no other
/// slot ever has, so that an answer that comes too late finds no slot rather than another account's.
package final class SlotTable {
    private struct Member {
        /// 0: the place is free.
        var number: Int
        var slot: CredentialSlot
        /// The slot goes as soon as no request uses it.
        var isLeaving: Bool
    }

    /// Removing more slots at a time would keep requests waiting.
    private static let mostRemoved = 4_096
    private static let placeBits = 24

    private var named: [CredentialSlot] = []
    private var members: [Member] = []
    private var freePlaces: [Int] = []
    /// How many slots members have had.
    private var uses = 0
    /// Finds the places in ``named``.
    private var namedByName = HashIndex()
    /// Finds the places in ``members``.
    private var membersByName = HashIndex()
    /// Numbers of slots that leave, and some of slots that stay after all.
    private var leaving: [Int] = []
    /// Stands for slots that are gone. It never holds a credential.
    private let vacant = CredentialSlot(AccountID(""), requiresApproval: true)

    package init() {}

    /// How many accounts the configuration has named so far.
    package var namedCount: Int { self.named.count }
    /// How many members have a slot now.
    package var memberCount: Int { self.members.count - self.freePlaces.count }

    package subscript(number: Int) -> CredentialSlot {
        number >= 0 ? self.named[number] : self.member(number)
    }

    private func member(_ number: Int) -> CredentialSlot {
        self.contains(number) ? self.members[Self.place(of: number)].slot : self.vacant
    }

    /// Whether there is a slot with that number, which may be a member's that is gone.
    package func contains(_ number: Int) -> Bool {
        guard number < 0 else { return number < self.named.count }
        let place = Self.place(of: number)
        return place < self.members.count && self.members[place].number == number
    }

    private static func place(of number: Int) -> Int { ~number & (1 << Self.placeBits - 1) }

    /// The number of an account's slot; `nil` if it has none here.
    package func number(of account: AccountID) -> Int? { self.number(of: account.rawValue.utf8.span) }

    /// The number of the slot of the account that is named so in a request; `nil` if it has none here.
    package func number(of name: Span<UInt8>) -> Int? {
        let hash = Self.hash(name)
        var place = self.namedByName.first(hash)
        while let found = place {
            if self.named[found].isNamed(name) { return found }
            place = self.namedByName.next(after: found)
        }
        place = self.membersByName.first(hash)
        while let found = place {
            if self.members[found].slot.isNamed(name) { return self.members[found].number }
            place = self.membersByName.next(after: found)
        }
        return nil
    }

    private static func hash(_ name: Span<UInt8>) -> Int {
        var hasher = Hasher()
        // The bytes are read during the call only, while the span is valid.
        unsafe name.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// Adds a slot for an account that the configuration names. If the account was a member until now, both numbers
    /// mean the same slot, since requests in progress know it by the old one.
    package func append(_ account: AccountID, requiresApproval: Bool) {
        let slot =
            self.number(of: account).map { self[$0] } ?? CredentialSlot(account, requiresApproval: requiresApproval)
        self.named.append(slot)
        self.namedByName.insert(self.named.count - 1, hash: Self.hash(account.rawValue.utf8.span))
    }

    /// Adds a slot for a member that has none. The slot leaves, unless it gets a credential.
    package func add(_ account: AccountID, requiresApproval: Bool) -> Int {
        let place = self.freePlaces.popLast() ?? self.members.count
        self.uses += 1
        let number = ~(self.uses << Self.placeBits | place)
        let member = Member(
            number: number,
            slot: CredentialSlot(account, requiresApproval: requiresApproval),
            isLeaving: true
        )
        if place < self.members.count { self.members[place] = member } else { self.members.append(member) }
        self.membersByName.insert(place, hash: Self.hash(account.rawValue.utf8.span))
        self.leaving.append(number)
        return number
    }

    /// Has a member's slot removed as soon as no request uses it. Does nothing to other slots.
    package func letGo(_ number: Int) {
        guard number < 0, self.contains(number), !self.members[Self.place(of: number)].isLeaving else { return }
        self.members[Self.place(of: number)].isLeaving = true
        self.leaving.append(number)
    }

    /// Keeps a slot that was let go.
    package func keep(_ number: Int) {
        if number < 0, self.contains(number) { self.members[Self.place(of: number)].isLeaving = false }
    }

    /// Whether the slot goes as soon as no request uses it.
    func isLeaving(_ number: Int) -> Bool {
        number < 0 && self.contains(number) && self.members[Self.place(of: number)].isLeaving
    }

    /// Whether ``removeLeaving(but:)`` has anything to do.
    var hasLeaving: Bool { !self.leaving.isEmpty }

    /// Removes slots that were let go and that no request uses.
    package func removeLeaving(but users: SlotUsers) {
        let batch = self.leaving.suffix(Self.mostRemoved)
        self.leaving.removeLast(batch.count)
        var kept = Set<Int>()
        for number in batch where self.isLeaving(number) {
            if users.senders.contains(number) {
                kept.insert(number)
            } else if users.holders.contains(number) {
                kept.insert(number)
                // The configuration may name the account by now: then the slot is in use under another number.
                if self.number(of: self[number].account) == number { self[number].clear() }
            } else {
                self.remove(number)
            }
        }
        // Behind the others, which this call has not come to.
        self.leaving.insert(contentsOf: kept, at: 0)
    }

    private func remove(_ number: Int) {
        let place = Self.place(of: number)
        self.membersByName.remove(place)
        self.members[place] = Member(number: 0, slot: self.vacant, isLeaving: false)
        self.freePlaces.append(place)
    }

    /// The numbers of all slots: those that the configuration names, then the members'.
    var numbers: [Int] { Array(self.named.indices) + self.memberNumbers }

    /// The numbers of the members' slots.
    var memberNumbers: [Int] { self.members.lazy.map(\.number).filter { $0 < 0 } }
}

/// The slots that requests use.
package struct SlotUsers {
    /// Those whose token a request may still need.
    package var senders: Set<Int>
    /// Those whose token went with a request that is still in progress. That includes tunnels.
    package var holders: Set<Int>

    package init(senders: Set<Int> = [], holders: Set<Int> = []) {
        self.senders = senders
        self.holders = holders
    }
}
