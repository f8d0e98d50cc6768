/// Why a text is not the value that its place asks for. It becomes a ``SettingsFinding`` where its position is known.
package struct ValueError: Error {
    /// Follows the path of the value: "must end in /".
    package let message: String

    init(_ message: String) { self.message = message }
}
