/// The keys of what this room says in logs.
enum LogField {
    /// Whose admin token it was.
    static let administrator = "admin.name"
    static let role = "admin.role"
    static let method = "admin.method"
    static let route = "admin.route"
    static let address = "server.address"
    static let code = "error.code"
    static let reason = "error.reason"
}
