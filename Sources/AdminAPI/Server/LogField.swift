/// The keys of what this room says in logs.
enum LogField {
    static let address = "server.address"
    static let code = "error.code"
    static let reason = "error.reason"
}
