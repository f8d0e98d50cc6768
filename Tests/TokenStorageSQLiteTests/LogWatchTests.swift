import Foundation
import TestKit
import Testing
import TokenStorageSQLite

@Suite struct LogWatchTests {
    private static let moment = Duration.milliseconds(1)
    private let start = ContinuousClock.now

    /// A watch on a log that was checked and then left unchanged until the watch reports no change.
    private func rested(in directory: TemporaryDirectory) throws -> LogWatch {
        try Data("frame".utf8).write(to: URL(fileURLWithPath: directory.path(of: "log")))
        var watch = LogWatch(path: directory.path(of: "log"))
        let answers = self.ask(&watch, [.zero, LogWatch.restlessness - Self.moment, LogWatch.restlessness])
        #expect(answers == [true, true, false])
        return watch
    }

    private func ask(_ watch: inout LogWatch, _ times: [Duration]) -> [Bool] {
        times.map { watch.mayHaveChanged(at: self.start + $0) }
    }

    @Test func `a write is noticed, and so is what may follow it immediately`() throws {
        let directory = try TemporaryDirectory()
        var watch = try self.rested(in: directory)
        // When the file is overwritten with the same number of bytes
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: directory.path(of: "log")))
        try file.write(contentsOf: Data("FRAME".utf8))
        try file.close()
        // Then the log may have changed, for as long as a commit may take
        let written = LogWatch.restlessness + Self.moment
        let settled = written + LogWatch.restlessness
        let answers = self.ask(&watch, [written, settled - Self.moment, settled])
        #expect(answers == [true, true, false])
    }

    @Test func `a watch without a write rests, but never for long`() throws {
        let directory = try TemporaryDirectory()
        var watch = try self.rested(in: directory)
        let rested = LogWatch.restlessness - Self.moment + LogWatch.longestRest
        let answers = self.ask(&watch, [rested - Self.moment, rested, rested + Self.moment])
        #expect(answers == [false, true, false])
    }

    @Test func `a missing log always counts as changed`() throws {
        let directory = try TemporaryDirectory()
        var watch = try self.rested(in: directory)
        try FileManager.default.removeItem(atPath: directory.path(of: "log"))
        let gone = LogWatch.restlessness * 2
        let answers = self.ask(&watch, [gone, gone + LogWatch.restlessness])
        #expect(answers == [true, true])
    }
}
