#if DEBUG
    internal import Glibc
    internal import Synchronization

    /// Carries out, in this process, what the environment variable `MARTLET_FAILPOINTS` says of the steps of its flights
    /// (see ``FailpointConfiguration``). Debug builds have it, release builds not one byte of it: the tests run debug builds anyway, and
    /// a third kind of build would have to be made and kept for it.
    struct Failpoints {
        private var after: FlightStep?

        /// A plan can't be copied once it stands in a mutex, so it lives in an object.
        private final class Shared: Sendable {
            let plan: Mutex<FailpointConfiguration>

            init(_ plan: FailpointConfiguration) { self.plan = Mutex(plan) }
        }

        private static let shared: Shared? = {
            guard let text = unsafe getenv("MARTLET_FAILPOINTS") else { return nil }
            do throws(FailpointConfiguration.Mistake) {
                return Shared(try FailpointConfiguration(unsafe String(cString: text)))
            } catch {
                preconditionFailure("MARTLET_FAILPOINTS can't be read: \(error.item)")
            }
        }()

        /// A flight is about to do what it has decided: the moment after its last step, and before the next.
        mutating func reach(_ action: FlightAction, of flight: borrowing Flight) async {
            guard Self.shared != nil else { return }
            if let after = self.after { await Self.pass(after) }
            let steps = flight.steps(around: action)
            self.after = steps?.after
            if let before = steps?.before { await Self.pass(before) }
        }

        /// The refresh token is about to go. A pause here blocks the event loop, as a slow machine would.
        static func sending() {
            guard let duration = Self.perform(at: .sending) else { return }
            usleep(UInt32(min(duration / .microseconds(1), 4e9)))
        }

        private static func pass(_ step: FlightStep) async {
            guard let duration = Self.perform(at: step) else { return }
            try? await Task.sleep(for: duration)
        }

        /// - Returns: how long to wait.
        private static func perform(at step: FlightStep) -> Duration? {
            switch Self.shared?.plan.withLock({ $0.reach(step) }) {
            case nil: return nil
            case .pause(let duration)?: return duration
            case .kill?: kill(getpid(), SIGKILL)
            // To this thread: of a signal to the process another may take notice first, while this one goes on.
            case .stop?: raise(SIGSTOP)
            }
            return nil
        }
    }
#else
    /// Nothing: only debug builds can be told to fail.
    struct Failpoints {
        @inline(__always)
        mutating func reach(_ action: FlightAction, of flight: borrowing Flight) async {}

        @inline(__always)
        static func sending() {}
    }
#endif

#if DEBUG
    /// A moment of a flight at which a process can be told to die, to stand still or to tarry. The names are those of
    /// ``FailpointConfiguration``.
    package enum FlightStep: String, CaseIterable, Sendable {
        case beforeRead = "before_read"
        case afterRead = "after_read"
        case beforeClaim = "before_claim"
        /// The claim is durable.
        case afterClaim = "after_claim"
        case beforeRenewal = "before_renewal"
        case afterRenewal = "after_renewal"
        /// There is no connection to the provider yet.
        case beforeExchange = "before_exchange"
        /// The connection stands and the head is written; the refresh token goes next.
        case sending
        /// The provider's answer is known to this process alone, and so are the tokens in it.
        case afterExchange = "after_exchange"
        case beforeCommit = "before_commit"
        /// The tokens are durable, or the store took nothing.
        case afterCommit = "after_commit"
        case beforeWriteBack = "before_write_back"
        case afterWriteBack = "after_write_back"
        case beforeJournal = "before_journal"
        case afterJournal = "after_journal"
    }

    extension Flight {
        /// The moments before and after what was asked for last.
        func steps(around action: FlightAction) -> (before: FlightStep, after: FlightStep)? {
            switch (action, self.state) {
            case (.read, _): (.beforeRead, .afterRead)
            case (.write, .claiming) where self.term == nil: (.beforeClaim, .afterClaim)
            case (.write, .claiming): (.beforeRenewal, .afterRenewal)
            case (.write, .committing): (.beforeCommit, .afterCommit)
            case (.write, .writingBack): (.beforeWriteBack, .afterWriteBack)
            case (.redeem, _), (.mint, _): (.beforeExchange, .afterExchange)
            case (.journal, _): (.beforeJournal, .afterJournal)
            case (.write, _), (.admit, _), (.pass, _), (.pause, _), (.end, _): nil
            }
        }
    }
#endif

#if DEBUG
    /// Says what is to happen at which step of a flight, for tests of what the end of a process leaves behind.
    ///
    /// The text is a list joined by `;`, each item `STEP=ACTION`, with `@N` for the Nth time only that the step is reached,
    /// or `%P` for a chance from 0 to 1 each time; `seed=N` decides the chances:
    ///
    ///     after_claim=kill@2;before_commit=pause:3s%0.5;sending=stop;seed=7
    package struct FailpointConfiguration: Sendable {
        /// What a process does to itself.
        package enum Action: Equatable, Sendable {
            /// Ends at once, as by `kill -9`.
            case kill
            /// Stands still until somebody sends SIGCONT.
            case stop
            /// Goes on after a while.
            case pause(Duration)
        }

        /// An item that can't be read, as it was written.
        package struct Mistake: Error, Equatable {
            package let item: String

            package init(item: String) { self.item = item }
        }

        private struct Failpoint {
            let step: FlightStep
            let action: Action
            var turn: Int?
            var chance: Double?
        }

        private var failpoints: [Failpoint] = []
        private var reached: [FlightStep: Int] = [:]
        private var state: UInt64 = 1

        /// - Throws: ``Mistake``: a failpoint that silently does nothing would make a test pass for the wrong reason.
        package init(_ text: String) throws(Mistake) {
            for item in text.split(separator: ";") {
                if item.hasPrefix("seed="), let seed = UInt64(item.dropFirst(5)) {
                    self.state = seed
                } else if let failpoint = Self.failpoint(item) {
                    self.failpoints.append(failpoint)
                } else {
                    throw Mistake(item: String(item))
                }
            }
        }

        /// The flight of some account is at `step`.
        ///
        /// - Returns: the first action that is due there.
        package mutating func reach(_ step: FlightStep) -> Action? {
            self.reached[step, default: 0] += 1
            for failpoint in self.failpoints where failpoint.step == step {
                if let turn = failpoint.turn, turn != self.reached[step] { continue }
                if let chance = failpoint.chance, self.draw() >= chance { continue }
                return failpoint.action
            }
            return nil
        }

        /// Evenly from 0 to 1, by SplitMix64.
        private mutating func draw() -> Double {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var bits = self.state
            bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
            return Double((bits ^ (bits >> 31)) >> 11) / 9_007_199_254_740_992
        }

        private static func failpoint(_ item: Substring) -> Failpoint? {
            let sides = item.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, let step = FlightStep(rawValue: String(sides[0])) else { return nil }
            let when = sides[1].firstIndex { $0 == "@" || $0 == "%" } ?? sides[1].endIndex
            guard let action = Self.action(sides[1][..<when]) else { return nil }
            var failpoint = Failpoint(step: step, action: action)
            guard when < sides[1].endIndex else { return failpoint }
            let number = sides[1][sides[1].index(after: when)...]
            if sides[1][when] == "@" {
                guard let turn = Int(number), turn > 0 else { return nil }
                failpoint.turn = turn
            } else {
                guard let chance = Double(number), (0...1).contains(chance) else { return nil }
                failpoint.chance = chance
            }
            return failpoint
        }

        private static func action(_ text: Substring) -> Action? {
            switch text {
            case "kill": return .kill
            case "stop": return .stop
            default: break
            }
            guard text.hasPrefix("pause:") else { return nil }
            let duration = text.dropFirst("pause:".count)
            if duration.hasSuffix("ms") { return Int(duration.dropLast(2)).map { .pause(.milliseconds($0)) } }
            guard duration.hasSuffix("s") else { return nil }
            return Int(duration.dropLast()).map { .pause(.seconds($0)) }
        }
    }
#endif
