import TokenModel

/// A request as a line of the log. It contains no path, query, field or token of the request.
struct AccessLine {
    let record: RequestRecord
    let routes: [String]
    /// Converts boot time to wall time.
    let clock: LogClock

    func write(to text: inout LineText) {
        let record = self.record
        text.begin(at: self.clock.wallTime(of: record.endedAt), level: "info", message: "request")
        text.add("http.method", "\(record.method)")
        if self.routes.indices.contains(record.route - 1) { text.add("route.name", self.routes[record.route - 1]) }
        if let caller = record.caller { text.add("caller.name", caller) }
        if let account = record.account { text.add("account.name", account.rawValue) }
        if record.status > 0 { text.add("http.status", Int64(record.status)) }
        text.addMilliseconds("duration_ms", nanoseconds: record.duration.clampedNanoseconds)
        text.add("bytes_in", Int64(record.bytesIn))
        text.add("bytes_out", Int64(record.bytesOut))
        text.add("replayed", record.isReplayed)
        if let error = record.error { text.add("error.code", error) }
        if let reason = record.reason { text.add("error.reason", reason) }
        if let origin = record.origin { text.add("upstream.origin", origin) }
        if !record.isWhole { text.add("aborted", true) }
        text.end()
    }
}
