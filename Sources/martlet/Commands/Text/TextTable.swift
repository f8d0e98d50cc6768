/// Rows under headings, in columns as wide as their widest cell.
package struct TextTable: Sendable {
    private let headings: [String]
    private var rows: [[String]] = []

    package init(_ headings: String...) {
        self.headings = headings
    }

    /// Puts a row below the others. A missing cell is empty; one too many is left out.
    package mutating func add(_ cells: [String]) {
        let cells = cells.prefix(self.headings.count).map(PlainText.line)
        self.rows.append(cells + Array(repeating: "", count: self.headings.count - cells.count))
    }

    /// The lines, without spaces at their ends.
    package var lines: [String] {
        let all = [self.headings] + self.rows
        let widths = self.headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let line = zip(row, widths)
                .map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
                .joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
