/// Shows lines repeatedly: in place on a terminal, one block after another elsewhere.
package struct WatchScreen: Sendable {
    private let rows: Int
    private let columns: Int

    package init(rows: Int, columns: Int) {
        self.rows = rows
        self.columns = columns
    }

    /// The text that draws `lines` over the previous ones (ECMA-48). Lines are cut to the terminal's size, so that
    /// nothing scrolls.
    ///
    /// - Parameter clears: whether to clear the screen first.
    package func frame(_ lines: [String], at time: String, clears: Bool) -> String {
        // The last row is left for the cursor.
        let room = max(self.rows - 2, 1)
        var shown = [time] + lines.prefix(lines.count > room ? room - 1 : room)
        if lines.count > room { shown.append("… \(lines.count - room + 1) more lines; the terminal is too low") }
        let text = shown.map { $0.prefix(self.columns) + "\u{1B}[K\n" }.joined()
        return (clears ? "\u{1B}[2J" : "") + "\u{1B}[H" + text + "\u{1B}[J"
    }

    /// The lines as a block for output that is not a terminal.
    package static func block(_ lines: [String], at time: String) -> String {
        ([time] + lines + [""]).map { $0 + "\n" }.joined()
    }
}
