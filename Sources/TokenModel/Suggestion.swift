/// Finds the word or the name that was probably meant.
package enum Suggestion {
    /// The one of `words` that is nearest to `word`, if it is near enough to be a slip: a third of its letters wrong,
    /// at least one, or only an end missing or too much (`warn`, `logging`). Case counts nothing, so that `clientId` finds `client_id`.
    package static func closest(to word: String, among words: some Sequence<String>) -> String? {
        let letters = Array(word.lowercased())
        // Long enough for every key there is; the table below is quadratic.
        guard letters.count <= 64 else { return nil }
        let limit = max(1, letters.count / 3)
        var best: (word: String, distance: Int)?
        for candidate in words {
            let other = Array(candidate.lowercased())
            let isBegun = other.starts(with: letters) || letters.starts(with: other)
            // Each letter too many or too few is a wrong one. There may be thousands of accounts: most end here.
            guard isBegun || abs(letters.count - other.count) <= limit else { continue }
            let distance = isBegun && min(letters.count, other.count) >= 3 ? 1 : Self.distance(letters, other)
            if distance <= limit, best.map({ distance < $0.distance }) ?? true {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// How many letters must be inserted, removed, replaced or swapped with their neighbour.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(replaced, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
