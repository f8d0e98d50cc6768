import Foundation
import TestKit
import Testing
import TokenStorageSQLite

@Suite struct LogWatchTests {
    private static let moment = Duration.milliseconds(1)
    private let start = ContinuousClock.now

    /// Given a log that was looked at, and then left alone until it was looked at no more.
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

    @Test func `a write is seen, and what may come right behind it`() throws {
        let directory = try TemporaryDirectory()
        var watch = try self.rested(in: directory)
        // When as many bytes are written over the old ones
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: directory.path(of: "log")))
        try file.write(contentsOf: Data("FRAME".utf8))
        try file.close()
        // Then it may have changed, for as long as a commit may take
        let written = LogWatch.restlessness + Self.moment
        let settled = written + LogWatch.restlessness
        let answers = self.ask(&watch, [written, settled - Self.moment, settled])
        #expect(answers == [true, true, false])
    }

    @Test func `without a write it rests, but never for long`() throws {
        let directory = try TemporaryDirectory()
        var watch = try self.rested(in: directory)
        let rested = LogWatch.restlessness - Self.moment + LogWatch.longestRest
        let answers = self.ask(&watch, [rested - Self.moment, rested, rested + Self.moment])
        #expect(answers == [false, true, false])
    }

    @Test func `a log that is not there may always have changed`() throws {
        let directory = try TemporaryDirectory()
        var watch = try self.rested(in: directory)
        try FileManager.default.removeItem(atPath: directory.path(of: "log"))
        let gone = LogWatch.restlessness * 2
        let answers = self.ask(&watch, [gone, gone + LogWatch.restlessness])
        #expect(answers == [true, true])
    }
}
