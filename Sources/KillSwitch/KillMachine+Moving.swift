package import TokenModel
package import TokenStorage

/// A move of the records to another store, as the log reports it.
extension KillMachine {
    /// The stores that this replica uses, by their places.
    package struct Home: Equatable, Sendable {
        /// The store that it uses now; `nil`: one that never was part of a move.
        package var place: PlaceID?
        /// Moves up to this entry of the log are those of another store, of which this one is a copy.
        package var inherited: Epoch
        /// The store that it goes over to as soon as all replicas can; `nil`: it stays.
        package var target: PlaceID?

        package init(place: PlaceID? = nil, inherited: Epoch = .start, target: PlaceID? = nil) {
            self.place = place
            self.inherited = inherited
            self.target = target
        }

        /// The home in a store with that place.
        package init(at place: StorePlace?, target: PlaceID? = nil) {
            self.init(place: place?.id, inherited: Epoch(place?.inherited ?? 0), target: target)
        }

        /// Whether the records are still in this store after that move.
        package func holds(after move: NumberedKillEntry) -> Bool {
            move.entry.destination == self.place || move.epoch <= self.inherited
        }
    }

    /// The log says that the records are moved to the target of this replica.
    package var isGoingOver: Bool {
        self.home.target != nil && self.log.contents.lastMove?.entry.destination == self.home.target
    }

    /// Why this replica takes no lease although it has read the log: the records are moved to another store.
    var obstacle: StoreError? {
        guard let move = self.log.contents.lastMove, !self.home.holds(after: move) else { return nil }
        return self.isGoingOver ? .moving : .movedAway
    }

    /// The log was read before this replica joined, and the store has no place. Then moves in the log are those of the
    /// store that it is a copy of.
    package mutating func settle(_ contents: KillLogContents) {
        if let move = contents.lastMove { self.home.inherited = max(self.home.inherited, move.epoch) }
    }

    /// The other replicas know that this one has left the store.
    package var hasLeft: Bool {
        guard self.isGoingOver, let move = self.log.contents.lastMove else { return false }
        return self.replica.map { $0.record.acknowledged >= move.epoch } ?? false
    }
}
