internal import FoundationEssentials

/// How many seeded schedules a simulation goes through.
package enum Schedules {
    /// As `MARTLET_SCHEDULES` says; else `few`, as many as every run of the tests has time for.
    package static func count(or few: Int) -> Int {
        ProcessInfo.processInfo.environment["MARTLET_SCHEDULES"].flatMap { Int($0) } ?? few
    }
}
