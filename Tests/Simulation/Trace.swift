internal import Foundation
internal import TokenModel

/// Which job ran when, as one number.
package struct Trace: Equatable, Sendable {
    /// The number of jobs that have run.
    package private(set) var count = 0
    /// A hash of all choices and their times (FNV-1a).
    package private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Adds that job `index` of `count` that could run was chosen at `moment`.
    mutating func add(_ index: Int, of count: Int, at moment: BootInstant) {
        self.count += 1
        for number in [UInt64(index), UInt64(count), UInt64(bitPattern: moment.nanoseconds)] {
            self.digest = (self.digest ^ number) &* 0x100_0000_01B3
        }
    }

    /// Writes a file into the folder that the environment variable `MARTLET_TRACES` names, if there is one: its name ends
    /// with the digest, so that two runs with one seed write the same files.
    func write(of test: String) throws {
        guard let folder = ProcessInfo.processInfo.environment["MARTLET_TRACES"] else { return }
        let name = "\(test.replacing("/", with: "_")) \(String(self.digest, radix: 16))"
        try Data("\(self.count)\n".utf8).write(to: URL(filePath: folder).appending(path: name))
    }
}
