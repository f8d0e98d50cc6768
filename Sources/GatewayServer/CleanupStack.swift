/// The releases of what a start has acquired so far.
struct CleanupStack {
    private var releases: [@Sendable () async -> Void] = []

    /// Adds a release, which runs before all earlier ones.
    mutating func push(_ release: @escaping @Sendable () async -> Void) { self.releases.append(release) }

    /// Runs all releases, the last one first.
    mutating func unwind() async {
        while let release = self.releases.popLast() { await release() }
    }
}
