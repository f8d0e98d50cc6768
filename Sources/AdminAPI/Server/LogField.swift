/// The keys of what this room says in logs.
enum LogField {
    static let address = "server.address"
    static let status = "http.status"
    static let code = "error.code"
    static let account = "account.name"
}
