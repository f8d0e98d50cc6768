/// Requests on their way from an event loop to the log.
package struct AccessBatch: Sendable {
    package var records: [RequestRecord]
    /// Names of the routes that the records count.
    package let routes: [String]
    /// Requests that found no room on the way.
    package var lost: Int

    package init(records: [RequestRecord], routes: [String], lost: Int) {
        self.records = records
        self.routes = routes
        self.lost = lost
    }
}
