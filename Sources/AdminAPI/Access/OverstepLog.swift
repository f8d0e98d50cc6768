internal import HTTPTypes
internal import Logging
internal import Synchronization
internal import TokenModel

/// Logs requests beyond an administrator's role or accounts, because they may show that their token is in the wrong hands.
///
/// At most one a minute is logged for each administrator: endless requests must not fill the log.
final class OverstepLog: Sendable {
    private let logger: Logger
    /// When an administrator's request was last logged.
    private let said = Mutex<[Administrator: BootInstant]>([:])
    private static let silence = Duration.seconds(60)

    init(_ logger: Logger) { self.logger = logger }

    func report(_ administrator: Administrator, _ method: HTTPRequest.Method, _ route: AdminRoute) {
        let now = BootInstant.now
        let isNews = self.said.withLock { said in
            // This limits the dictionary to the administrators logged within the last minute.
            said = said.filter { $0.value.duration(to: now) < Self.silence }
            guard said[administrator] == nil else { return false }
            said[administrator] = now
            return true
        }
        guard isNews else { return }
        self.logger.warning(
            "an administrator asked for what their role does not permit",
            metadata: [
                LogField.administrator: "\(administrator.name)", LogField.role: "\(administrator.role.word)",
                LogField.method: "\(method.rawValue)", LogField.route: "\(route.pattern)",
            ]
        )
    }
}
