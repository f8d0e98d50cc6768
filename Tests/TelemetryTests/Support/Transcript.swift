import Synchronization

/// Text that arrives in pieces.
final class Transcript: Sendable {
    private let text = Mutex("")

    /// Appends a piece and returns the whole text.
    func add(_ piece: String) -> String {
        self.text.withLock { text in
            text += piece
            return text
        }
    }
}
