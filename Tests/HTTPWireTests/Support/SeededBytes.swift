/// Pseudorandom numbers, the same for the same seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Mutates messages in ways that often break parsers.
struct Mutator {
    private var numbers: SeededNumbers
    private let corpus: [[UInt8]]
    private let words: [[UInt8]]

    /// - Parameters:
    ///   - corpus: messages to mutate, and to take pieces from.
    ///   - words: pieces that have a meaning in HTTP.
    init(seed: UInt64, corpus: [[UInt8]], words: [String]) {
        self.numbers = SeededNumbers(seed: seed)
        self.corpus = corpus
        self.words = words.map { bytes($0) }
    }

    /// A message with one to three mutations.
    mutating func next() -> [UInt8] {
        var message = self.sample()
        for _ in 0..<Int.random(in: 1...3, using: &self.numbers) { self.spoil(&message) }
        return message
    }

    /// Random bytes, mixed with words.
    mutating func noise() -> [UInt8] {
        var message: [UInt8] = []
        for _ in 0..<Int.random(in: 0...12, using: &self.numbers) {
            if Bool.random(using: &self.numbers) {
                message += self.words.randomElement(using: &self.numbers) ?? []
            } else {
                message.append(UInt8.random(in: 0...255, using: &self.numbers))
            }
        }
        return message
    }

    /// Cuts a message into one to six pieces.
    mutating func pieces(of message: [UInt8]) -> [ArraySlice<UInt8>] {
        var cuts = (0..<Int.random(in: 0...5, using: &self.numbers)).map { _ in
            Int.random(in: 0...message.count, using: &self.numbers)
        }
        cuts.sort()
        return zip([0] + cuts, cuts + [message.count]).map { message[$0..<$1] }
    }

    private mutating func sample() -> [UInt8] { self.corpus.randomElement(using: &self.numbers) ?? [] }

    private mutating func range(in message: [UInt8]) -> Range<Int> {
        let start = Int.random(in: 0...message.count, using: &self.numbers)
        return start..<min(message.count, start + Int.random(in: 0...24, using: &self.numbers))
    }

    private mutating func spoil(_ message: inout [UInt8]) {
        let range = self.range(in: message)
        switch Int.random(in: 0..<8, using: &self.numbers) {
        case 0: message.removeSubrange(range)
        case 1: message.insert(contentsOf: Array(message[range]), at: range.upperBound)
        case 2: message.insert(UInt8.random(in: 0...255, using: &self.numbers), at: range.lowerBound)
        case 3:
            guard range.lowerBound < message.count else { return }
            message[range.lowerBound] ^= 1 << UInt8.random(in: 0...7, using: &self.numbers)
        case 4:
            let other = self.sample()
            let taken = self.range(in: other)
            message.replaceSubrange(range, with: other[taken])
        case 5: message.insert(contentsOf: self.words.randomElement(using: &self.numbers) ?? [], at: range.lowerBound)
        case 6: message.replaceSubrange(range.prefix(1), with: self.words.randomElement(using: &self.numbers) ?? [])
        default: message.removeSubrange(range.upperBound...)
        }
    }
}
