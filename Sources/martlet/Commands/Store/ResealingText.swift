/// What came of sealing a store's records anew, as people read it: each record is in one of the numbers.
package enum ResealingText {
    /// Such as `103 records: 102 sealed anew under key k2, 1 under it already`: what a gateway has written meanwhile is.
    ///
    /// - Parameters:
    ///   - records: all that were looked at.
    ///   - left: whose account is being refreshed, or that others wrote each time.
    ///   - unreadable: those that do not open.
    package static func line(records: Int, resealed: Int, left: Int, unreadable: Int, key: String) -> String {
        let others = [
            ("under it already", records - resealed - left - unreadable), ("left as they are", left),
            ("that do not open", unreadable),
        ]
        let counts = others.filter { $0.1 > 0 }.map { ", \($0.1) \($0.0)" }.joined()
        return "\(records) records: \(resealed) sealed anew under key \(key)\(counts)"
    }
}
