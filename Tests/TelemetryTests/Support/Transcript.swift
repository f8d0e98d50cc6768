import Synchronization

/// Text that comes in pieces.
final class Transcript: Sendable {
    private let text = Mutex("")

    /// All of it, with what has just come.
    func add(_ piece: String) -> String {
        self.text.withLock { text in
            text += piece
            return text
        }
    }
}
