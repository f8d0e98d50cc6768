import ArgumentParser
import Foundation
import SimulatedCluster
import Simulation
import Synchronization

/// Runs seed after seed of the simulated cluster, and tells the rate and what went wrong.
@main struct ClusterRuns: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scripts/cluster",
        abstract: "Run seeds of the simulated cluster, and print the story of each that violates a promise.",
        discussion: """
            For instance, an hour from seed 0 on, and one seed of it again:

              scripts/cluster --minutes 60
              scripts/cluster --first 4711 --count 1
            """
    )

    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "How many seeds to run, at most; without it, all that the time allows.") var count: UInt64?
    @Option(help: "For how long to begin with further seeds.") var minutes = 1.0
    @Option(help: "How many seeds to run at once.") var jobs = 2
    @Option(help: "Run until one seed violates a promise for want of this rule.") var without: Mutation?
    @Flag(help: "Print a line for each seed.") var verbose = false
    @Flag(help: "Print the story of each seed.") var story = false

    private struct Run: Sendable {
        let seed: UInt64
        let isWhole: Bool
        let text: String
        let sums: [Ledger.Count: Int]
    }

    /// The seeds that run, and when each began.
    private static let running = Mutex<[UInt64: Date]>([:])
    /// A seed takes a second or two. One that takes so long goes round in circles, and no time passes in it.
    private static let longest: TimeInterval = 120

    private static func watch() async throws {
        while true {
            try await Task.sleep(for: .seconds(5))
            let stuck = Self.running.withLock { running in
                running.first { Date().timeIntervalSince($0.value) > Self.longest }?.key
            }
            guard let stuck else { continue }
            print("seed \(stuck) does not end")
            Self.exit(withError: ExitCode.failure)
        }
    }

    func run() async throws {
        let begin = Date()
        let watch = Task { try await Self.watch() }
        defer { watch.cancel() }
        let (last, overflows) = self.first.addingReportingOverflow(self.count ?? .max)
        let end = overflows ? UInt64.max : last
        var (next, done, violated) = (self.first, 0, [UInt64]())
        var sums: [Ledger.Count: Int] = [:]
        await withTaskGroup(of: Run.self) { group in
            func begins() -> Bool {
                let isOver = self.without != nil && !violated.isEmpty
                guard !isOver, next < end, Date().timeIntervalSince(begin) < self.minutes * 60 else { return false }
                let seed = next
                group.addTask { await Self.run(seed, without: self.without, tellsAll: self.story) }
                next += 1
                return true
            }
            for _ in 0..<self.jobs { _ = begins() }
            for await run in group {
                done += 1
                sums.merge(run.sums, uniquingKeysWith: +)
                if !run.isWhole || self.story {
                    if !run.isWhole { violated.append(run.seed) }
                    print(run.text)
                } else if self.verbose {
                    print("seed \(run.seed): \(run.text)")
                }
                if done % 500 == 0 {
                    FileHandle.standardError.write(Data("\(done) seeds, \(violated.count) violated\n".utf8))
                }
                _ = begins()
            }
        }
        let seconds = Date().timeIntervalSince(begin)
        let rate = String(format: "%.1f", Double(done) / seconds)
        let counts = Ledger.Count.allCases.map { "\(sums[$0, default: 0]) \($0.rawValue)" }.joined(separator: ", ")
        print("\(done) seeds from \(self.first) on in \(Int(seconds)) s, \(rate) a second: \(counts)")
        print(
            violated.isEmpty ? "no violation" : "violated: \(violated.sorted().map(String.init).joined(separator: " "))"
        )
        if !violated.isEmpty, self.without == nil { throw ExitCode.failure }
        if violated.isEmpty, self.without != nil { throw ExitCode.failure }
    }

    private static func run(_ seed: UInt64, without mutation: Mutation?, tellsAll: Bool) async -> Run {
        Self.running.withLock { $0[seed] = Date() }
        defer { Self.running.withLock { $0[seed] = nil } }
        let cluster = SimulatedCluster(seed: seed, weather: mutation?.weather, without: mutation)
        var isWhole = true
        var text = ""
        do { try await cluster.run() } catch {
            (isWhole, text) = (false, "seed \(seed): \(error)\n")
        }
        if !cluster.ledger.violations.isEmpty { (isWhole, text) = (false, text + cluster.account + "\n") }
        let sums = Ledger.Count.allCases.map { ($0, cluster.ledger.count($0)) }
        if isWhole, tellsAll { text = cluster.account }
        if isWhole, !tellsAll {
            text =
                sums.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", ")
                + ", \(cluster.trace.count) jobs \(String(cluster.trace.digest, radix: 16))"
        }
        return Run(seed: seed, isWhole: isWhole, text: text, sums: Dictionary(uniqueKeysWithValues: sums))
    }
}

extension Mutation: ExpressibleByArgument {}
