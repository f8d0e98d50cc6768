internal import Synchronization

/// Keeps the one fact that decides whether a refresh token may have been spent: whether its form was handed to the
/// connection.
///
///                 ┌──▶ handedOver        the connection took it
///     untouched ──┼──▶ withheld          the connection stood, but the right to send had ended
///                 └──▶ abandoned         the exchange ended first; the form can't go out any more
///
/// What is reported as not sent stays unsent: there is no way out of the states on the right.
final class FormHandover: Sendable {
    enum End {
        case handedOver, withheld, abandoned
    }

    /// `nil` while untouched.
    private let end = Mutex<End?>(nil)
    private let mayStillSend: @Sendable () -> Bool

    init(mayStillSend: @escaping @Sendable () -> Bool) { self.mayStillSend = mayStillSend }

    /// Asks for the right to hand the form over, now; at most once with yes.
    func begin() -> Bool {
        self.end.withLock { end in
            guard end == nil else { return false }
            let mayHandOver = self.mayStillSend()
            end = mayHandOver ? .handedOver : .withheld
            return mayHandOver
        }
    }

    /// Ends it: says how far it came, and lets nothing go out after.
    func conclude() -> End {
        self.end.withLock { end in
            let reached = end ?? .abandoned
            end = reached
            return reached
        }
    }
}
