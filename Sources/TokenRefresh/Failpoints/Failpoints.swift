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
