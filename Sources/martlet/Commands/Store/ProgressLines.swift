internal import TokenModel

/// Says now and then, on standard error, how far long work has come.
struct ProgressLines {
    private let work: String
    private var next: BootInstant

    /// - Parameter work: what is done with the records, as in `checked`.
    init(_ work: String) {
        self.work = work
        self.next = BootInstant.now.advanced(by: Self.interval)
    }

    private static let interval = Duration.seconds(2)

    mutating func reached(_ records: Int) {
        let now = BootInstant.now
        guard now >= self.next else { return }
        self.next = now.advanced(by: Self.interval)
        Console.mention("\(self.work) \(records) records so far")
    }
}
