#if DEBUG
    internal import Glibc
    internal import Synchronization

    /// Performs the actions that the environment variable `MARTLET_FAILPOINTS` sets for the steps of this process's
    /// flights (see ``FailpointConfiguration``). Only debug builds contain this code. The tests run debug builds
    /// anyway, and a third kind of build would be extra work.
    struct Failpoints {
        private var after: FlightStep?

        /// A `Mutex` can't be copied, so an object holds it.
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

        /// Runs the failpoints between a flight's last action and its next one.
        mutating func reach(_ action: FlightAction, of flight: borrowing Flight) async {
            guard Self.shared != nil else { return }
            if let after = self.after { await Self.pass(after) }
            let steps = flight.steps(around: action)
            self.after = steps?.after
            if let before = steps?.before { await Self.pass(before) }
        }

        /// Runs the failpoint just before the refresh token is sent. A pause here blocks the event loop, as a slow
        /// machine would.
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
            // Raises the signal on this thread. If it went to the process, another thread might handle it first while
            // this one goes on.
            case .stop?: raise(SIGSTOP)
            }
            return nil
        }
    }
#else
    /// Does nothing. Failpoints exist in debug builds only.
    struct Failpoints {
        @inline(__always)
        mutating func reach(_ action: FlightAction, of flight: borrowing Flight) async {}

        @inline(__always)
        static func sending() {}
    }
#endif

#if DEBUG
    /// A step of a flight at which a process can be told to die, to stop or to pause. ``FailpointConfiguration`` uses
    /// the raw values.
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
        /// The connection is open and the request head is written. The refresh token is sent next.
        case sending
        /// Only this process knows the provider's response and the tokens in it.
        case afterExchange = "after_exchange"
        case beforeCommit = "before_commit"
        /// The tokens are durable, or the store rejected them.
        case afterCommit = "after_commit"
        case beforeWriteBack = "before_write_back"
        case afterWriteBack = "after_write_back"
        case beforeJournal = "before_journal"
        case afterJournal = "after_journal"
    }

    extension Flight {
        /// The steps before and after `action`; `nil` if it has none.
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
    /// Defines what happens at which step of a flight. Tests use it to check the state that a process leaves behind
    /// when it dies.
    ///
    /// The text is a list of items separated by `;`. Each item has the form `STEP=ACTION`. `@N` limits it to the Nth
    /// time that the step is reached, and `%P` gives it a probability from 0 to 1 each time. `seed=N` seeds the random
    /// numbers:
    ///
    ///     after_claim=kill@2;before_commit=pause:3s%0.5;sending=stop;seed=7
    package struct FailpointConfiguration: Sendable {
        /// What the process does at a failpoint.
        package enum Action: Equatable, Sendable {
            /// Ends at once, as by `kill -9`.
            case kill
            /// Stops until it receives SIGCONT.
            case stop
            /// Goes on after the duration.
            case pause(Duration)
        }

        /// An item that can't be parsed, as it was written.
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

        /// - Throws: ``Mistake`` for an item that can't be parsed. A failpoint that silently does nothing would make a
        ///   test pass for the wrong reason.
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

        /// Records that a flight of some account is at `step`.
        ///
        /// - Returns: the first action that is due at this step; `nil` if there is none.
        package mutating func reach(_ step: FlightStep) -> Action? {
            self.reached[step, default: 0] += 1
            for failpoint in self.failpoints where failpoint.step == step {
                if let turn = failpoint.turn, turn != self.reached[step] { continue }
                if let chance = failpoint.chance, self.draw() >= chance { continue }
                return failpoint.action
            }
            return nil
        }

        /// Draws evenly from 0 to 1, with SplitMix64.
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
