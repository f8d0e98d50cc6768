/// The metadata keys of this module's log entries.
enum LogField {
    /// The administrator's name.
    static let administrator = "admin.name"
    static let role = "admin.role"
    static let method = "admin.method"
    static let route = "admin.route"
    static let address = "server.address"
    static let code = "error.code"
    static let reason = "error.reason"
}
