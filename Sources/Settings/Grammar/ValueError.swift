/// Why a text is not the value that its place asks for. It becomes a ``SettingsFinding`` where its position is known.
struct ValueError: Error {
    /// Follows the path of the value: "must end in /".
    let message: String

    init(_ message: String) { self.message = message }
}
