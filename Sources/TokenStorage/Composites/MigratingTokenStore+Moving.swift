internal import Synchronization
internal import TokenModel

/// The move itself: every replica leaves `previous`, one commits, each goes over, and the records follow.
extension MigratingTokenStore {
    /// Copies the kill log to `current` as far as it goes, so that little is left to copy when the replicas wait.
    package func copyKillLog() async throws(StoreError) {
        try await self.putBackPlaces()
        try await KillLogCopying(from: self.previous, to: self.current).run { () async throws(StoreError) in
            try await self.expectUncommitted()
        }
    }

    /// Puts back the place records that a failover has lost.
    private func putBackPlaces() async throws(StoreError) {
        for (vault, place) in [(self.places.previous, self.ends.source), (self.places.current, self.ends.target)] {
            let (found, isNew) = try await vault.putBack(place)
            if isNew { self.state.withLock { $0.placedAt = self.timepiece.now.boot } }
            guard found?.id == place.id else {
                throw StoreError(
                    .moved,
                    "another gateway has begun this move anew, since a store had lost what it was for: restart this one"
                )
            }
        }
    }

    /// Expects that no failover can take the place records any more. Once the kill log names the target, a target that has
    /// lost its name and finds no process that knows it would stop them all.
    package func expectLastingPlaces() throws(StoreError) {
        guard self.guarantees.failover == .losesSuffix else { return }
        guard self.state.withLock(\.placedAt).advanced(by: Self.replication) <= self.timepiece.now.boot else {
            throw StoreError(
                .unreachable,
                "a failover may still lose what names the two stores: it begins ten seconds after that was written"
            )
        }
    }

    /// Begins to leave `previous`: no call starts, except of records that stay in their store.
    ///
    /// - Returns: whether all calls have ended, and no change can land late any more.
    package func leave() -> Bool {
        let now = self.timepiece.now.boot
        return self.state.withLock { state in
            if state.phase == .before { state.phase = .leaving }
            guard state.phase == .leaving else { return true }
            let isSettled = state.uncertainAt.map { $0.advanced(by: Self.settling) <= now } ?? true
            return state.calls == 0 && isSettled
        }
    }

    /// Commits the move for all replicas. Call it when every replica of `previous` has left or lapsed.
    package func commit() async throws(StoreError) {
        guard try await self.places.previous.read()?.record.stage != .movedAway(to: self.target) else { return }
        try await self.copyKillLog()
        let target = try await self.places.current.read()?.record ?? self.ends.target
        _ = try await self.places.previous.change { $0.moveAway(to: target) }
    }

    /// Whether the move that this process has gone over with still stands: nobody has moved the records on or back. If a
    /// failover of `previous` has lost it, it is committed again. A `previous` that was emptied has nothing to say.
    private func stands() async throws(StoreError) -> Bool {
        guard let source = try await self.places.previous.read()?.record, source.id == self.ends.source.id,
            source.stage != .movedAway(to: self.target)
        else { return true }
        guard let target = try await self.places.current.read()?.record, target.id == self.target else { return false }
        let place = try await self.places.previous.change {
            $0.hasForgottenMove(to: target) && $0.moveAway(to: target)
        }
        return place.stage == .movedAway(to: self.target)
    }

    /// Goes over to `current` if the move is committed.
    ///
    /// - Returns: whether it is.
    package func goOver() async throws(StoreError) -> Bool {
        guard self.phase != .after else { return true }
        let place = try await self.places.previous.read()?.record
        guard place?.stage == .movedAway(to: self.target) else { return false }
        try await self.noteFilling()
        let now = self.timepiece.now.boot
        let waiting = self.state.withLock { state in
            (state.phase, state.arrivedAt) = (.after, now)
            defer { state.waiting = [:] }
            return state.waiting
        }
        for one in waiting.values { one.resume() }
        self.broadcaster.announce(.anotherServer)
        return true
    }

    /// Removes a record of `previous` that belongs to nobody any more. If that fails, it stays.
    package func leaveBehind(_ key: RecordKey) async {
        guard let stored = try? await self.previous.read(key) else { return }
        try? await self.previous.remove(key, expecting: stored.version)
    }

    private func noteFilling() async throws(StoreError) {
        let source = self.ends.source.id
        try await self.places.current.putBack(self.ends.target)
        _ = try await self.places.current.change { place in
            switch place.stage {
            case .own, .filling: return false
            case .prepared, .movedAway:
                place.stage = .filling(from: source)
                return true
            }
        }
    }

    /// Passes hints on, and moves records in the background. Returns when its task is cancelled.
    ///
    /// - Parameter ended: called when nothing is left in `previous`.
    package func run(ended: @Sendable (Progress) -> Void) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.followPrevious() }
            tasks.addTask { for await change in self.hints.current { self.broadcaster.announce(change) } }
            while !Task.isCancelled {
                // A store that can't be reached is tried again.
                if self.phase == .after { try? await self.moveAll() }
                if self.state.withLock(\.isDone) {
                    ended(self.progress)
                    break
                }
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
            }
        }
    }

    /// Passes on the hints of `previous`, and looks after each of its failovers whether it still knows of the move: else a
    /// process that starts could use it.
    private func followPrevious() async {
        for await change in self.hints.previous {
            // A write may be heard of late. Later hints are of records that have moved.
            if !self.hasBeenThere(for: .seconds(3)) { self.broadcaster.announce(change) }
            guard change == .anotherServer, self.phase == .after else { continue }
            while !Task.isCancelled, (try? await self.stands()) == nil {
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
            }
        }
    }

    private func hasBeenThere(for time: Duration) -> Bool {
        let since = self.timepiece.now.boot
        return self.state.withLock { $0.phase == .after && $0.arrivedAt.advanced(by: time) < since }
    }

    /// Moves all records, until a pass finds none.
    private func moveAll() async throws(StoreError) {
        var (last, found) = (RecordKey?.none, false)
        while !Task.isCancelled {
            if last == nil {
                guard try await self.stands() else { return }
                try await self.noteFilling()
            }
            let page = try await self.previous.records(under: .all, after: last, limit: StoreGuarantees.listing)
            guard let end = page.last?.key else {
                guard found else { return try await self.noteDone() }
                (last, found) = (nil, false)
                continue
            }
            let keys = page.map(\.key).filter { !$0.isPinned }
            found = found || !keys.isEmpty
            try await self.move(keys)
            last = end
        }
    }

    private func noteDone() async throws(StoreError) {
        let source = self.ends.source.id
        _ = try await self.places.current.change { place in
            guard place.stage == .filling(from: source) else { return false }
            place.stage = .own
            return true
        }
        self.state.withLock { $0.isDone = true }
    }

    private func move(_ keys: [RecordKey]) async throws(StoreError) {
        let after = self.after
        try await ConcurrentCalls.forEach(keys) { key throws(StoreError) in
            if !Task.isCancelled, try await after.moveUp(key) { self.state.withLock { $0.moved += 1 } }
        }
    }
}

// MARK: - Progress

extension MigratingTokenStore {
    /// The state of a move, for people.
    package struct Progress: Equatable, Sendable {
        package enum State: String, Sendable {
            /// Not all replicas have this target yet.
            case waiting
            /// The replicas go over.
            case leaving
            case moving
            case done
        }

        package let state: State
        /// The records that this process has moved.
        package let moved: Int
    }

    package var progress: Progress {
        self.state.withLock { state in
            let stage: Progress.State =
                switch state.phase {
                case .before: .waiting
                case .leaving: .leaving
                case .after: state.isDone ? .done : .moving
                }
            return Progress(state: stage, moved: state.moved)
        }
    }
}
