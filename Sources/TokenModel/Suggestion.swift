/// Finds the word or name that the user probably meant.
package enum Suggestion {
    /// The element of `words` that is nearest to `word`, if it is near enough to be a typing error: at most a third of
    /// the letters are wrong (at least one letter is allowed), or only the end is missing or superfluous (`warn`,
    /// `logging`). Case is ignored, so that `clientId` finds `client_id`.
    package static func closest(to word: String, among words: some Sequence<String>) -> String? {
        let letters = Array(word.lowercased())
        // 64 letters are enough for every key. The table below is quadratic.
        guard letters.count <= 64 else { return nil }
        let limit = max(1, letters.count / 3)
        var best: (word: String, distance: Int)?
        for candidate in words {
            let other = Array(candidate.lowercased())
            let isBegun = other.starts(with: letters) || letters.starts(with: other)
            // Each missing or extra letter counts as one error. There may be thousands of accounts, and this check
            // rejects most of them.
            guard isBegun || abs(letters.count - other.count) <= limit else { continue }
            let distance = isBegun && min(letters.count, other.count) >= 3 ? 1 : Self.distance(letters, other)
            if distance <= limit, best.map({ distance < $0.distance }) ?? true {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// The number of letters to insert, remove, replace or swap with their neighbour.
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
