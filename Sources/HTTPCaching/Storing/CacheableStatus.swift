/// What a status code says of storing (RFC 9110 §15.1, RFC 9111 §3).
enum CacheableStatus {
    /// A response with this status may be stored although it says nothing of its freshness (RFC 9110 §15.1). 206 is one
    /// too, but parts are not stored here.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// What the status means to a cache is known: such a response may be stored in spite of `no-store` with
    /// `must-understand` (RFC 9111 §5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: self.isHeuristicallyCacheable(status)
        }
    }

    /// A response with this status is never stored: it is a part or no response of its own (206, 304), it answers one
    /// caller's credentials, conditions or connection, or its specification forbids it (428, 429, 431, 511: RFC 6585).
    static func isNeverStored(_ status: Int) -> Bool {
        switch status {
        case ..<200, 600...: true
        case 206, 304, 401, 407, 412, 416, 417, 421, 426, 428, 429, 431, 511: true
        default: false
        }
    }
}
