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
