internal import Synchronization

/// Records whether a form was handed to the connection. That decides whether a refresh token may have been spent.
///
///                 ┌──▶ handedOver        the connection took the form
///     untouched ──┼──▶ withheld          the connection was established, but the right to send had ended
///                 └──▶ abandoned         the exchange ended first; the form can't be sent any more
///
/// The states on the right are final, so a form that is reported as not sent stays unsent.
final class FormHandover: Sendable {
    enum End {
        case handedOver, withheld, abandoned
    }

    /// `nil` while untouched.
    private let end = Mutex<End?>(nil)
    private let mayStillSend: @Sendable () -> Bool

    init(mayStillSend: @escaping @Sendable () -> Bool) { self.mayStillSend = mayStillSend }

    /// Requests the right to hand the form over now. Returns `true` at most once.
    func begin() -> Bool {
        self.end.withLock { end in
            guard end == nil else { return false }
            let mayHandOver = self.mayStillSend()
            end = mayHandOver ? .handedOver : .withheld
            return mayHandOver
        }
    }

    /// Ends the exchange and returns its final state. The form can't be handed over after that.
    func conclude() -> End {
        self.end.withLock { end in
            let reached = end ?? .abandoned
            end = reached
            return reached
        }
    }
}
