import HTTPWire
import Telemetry

/// What a configuration means to an event loop: swapped as a whole, between two requests.
struct RunningTables: Sendable {
    let table: RouteTable
    let callers: CallerTable
    let headLimits: HeadLimits
    let callerTimeouts: CallerTimeouts
    /// Of this moment; each later change comes as an event.
    var passes = PassBook()
    /// `nil` writes none.
    let accessLog: LogWriter?

    /// - Parameters:
    ///   - hosts: names and addresses of the listeners, as they stand in a `Host` field.
    ///   - old: what runs until then.
    init(_ plan: ProxyPlan, hosts: [String], accessLog: LogWriter?, following old: RunningTables? = nil) {
        let table = RouteTable(plan.routes, following: old?.table)
        self.table = table
        self.callers = CallerTable(plan.callers, routes: table, hosts: hosts)
        self.headLimits = plan.headLimits
        self.callerTimeouts = plan.callerTimeouts
        self.accessLog = accessLog
    }
}
