/// Splits what a server sends into values of RESP3. Bytes may come in pieces of any size.
///
/// All sizes are bounded. After an error the rest of the connection has no meaning: the parser then throws for ever.
package struct RESPParser: Sendable {
    /// Aggregates within aggregates.
    package static let deepest = 8
    /// The bytes of one text. The largest that Martlet asks for is a record, 64 KiB.
    package static let largestBlob = 2 << 20
    /// The elements of one aggregate. The largest that Martlet asks for is a page, 4,001.
    package static let largestAggregate = 100_000
    /// The bytes of one value with everything in it: more than the largest page with the longest keys.
    package static let largestValue = 8 << 20
    /// The bytes of a line, which is a number or a short text.
    package static let longestLine = 64 << 10

    private enum Kind { case array, set, map, push, attribute }

    private struct Aggregate {
        let kind: Kind
        var missing: Int
        var elements: [RESPValue] = []
    }

    /// A text whose length is known.
    private struct Blob {
        let type: UInt8
        let count: Int
    }

    private var buffer: [UInt8] = []
    /// The first byte that is not parsed.
    private var position = 0
    /// There is no end of a line before it.
    private var scanned = 0
    /// The aggregates that are incomplete, the outermost first.
    private var open: [Aggregate] = []
    private var blob: Blob?
    /// How many bytes the value in progress has so far.
    private var size = 0
    private var failure: RESPError?

    package init() {}

    /// Adds bytes that have arrived.
    package mutating func append(_ bytes: some Sequence<UInt8>) {
        guard self.failure == nil else { return }
        if self.position > 0 {
            self.buffer.removeFirst(self.position)
            self.scanned -= self.position
            self.position = 0
        }
        self.buffer.append(contentsOf: bytes)
    }

    /// The next value that is complete; `nil` until more bytes arrive.
    package mutating func next() throws(RESPError) -> RESPValue? {
        if let failure = self.failure { throw failure }
        do throws(RESPError) {
            while true {
                guard let step = try self.step() else { return nil }
                guard case .value(let value) = step, let whole = self.complete(value) else { continue }
                self.size = 0
                return whole
            }
        } catch {
            self.failure = error
            throw error
        }
    }

    private enum Step {
        case value(RESPValue)
        /// The beginning of a larger value.
        case beginning
    }

    /// One line, or the text that follows it; `nil` until more bytes arrive.
    private mutating func step() throws(RESPError) -> Step? {
        if let blob = self.blob { return try self.text(of: blob).map { .value($0) } }
        guard let line = try self.line() else { return nil }
        guard let type = line.first else { throw RESPError("an empty line") }
        let rest = line.dropFirst()
        switch type {
        case UInt8(ascii: "+"): return .value(.simple(String(decoding: rest, as: UTF8.self)))
        case UInt8(ascii: "-"): return .value(.failure(RESPFailure(String(decoding: rest, as: UTF8.self))))
        case UInt8(ascii: ":"): return .value(.integer(try Self.integer(rest)))
        case UInt8(ascii: ","): return .value(.double(try Self.double(rest)))
        case UInt8(ascii: "("): return .value(.bigNumber(try Self.bigNumber(rest)))
        case UInt8(ascii: "_") where rest.isEmpty: return .value(.null)
        case UInt8(ascii: "#") where rest.elementsEqual("t".utf8): return .value(.boolean(true))
        case UInt8(ascii: "#") where rest.elementsEqual("f".utf8): return .value(.boolean(false))
        case UInt8(ascii: "$"), UInt8(ascii: "!"), UInt8(ascii: "="):
            guard let count = try Self.count(rest, largest: Self.largestBlob, isNullable: type == UInt8(ascii: "$"))
            else { return .value(.null) }
            guard self.size + count <= Self.largestValue else { throw .tooLarge }
            self.blob = Blob(type: type, count: count)
            return .beginning
        case UInt8(ascii: "*"): return try self.begin(.array, rest)
        case UInt8(ascii: "~"): return try self.begin(.set, rest)
        case UInt8(ascii: "%"): return try self.begin(.map, rest)
        case UInt8(ascii: ">"): return try self.begin(.push, rest)
        case UInt8(ascii: "|"): return try self.begin(.attribute, rest)
        default: throw RESPError("a value of no known type")
        }
    }

    private mutating func begin(_ kind: Kind, _ length: ArraySlice<UInt8>) throws(RESPError) -> Step {
        guard let count = try Self.count(length, largest: Self.largestAggregate, isNullable: kind == .array) else {
            return .value(.null)
        }
        let isMap = kind == .map || kind == .attribute
        // A push is a message of its own, never a part of another value.
        guard kind != .push || self.open.isEmpty else { throw RESPError("a push within a value") }
        guard self.open.count < Self.deepest else { throw RESPError("values more than \(Self.deepest) deep") }
        let aggregate = Aggregate(kind: kind, missing: isMap ? 2 * count : count)
        guard aggregate.missing == 0 else {
            self.open.append(aggregate)
            return .beginning
        }
        return Self.value(of: aggregate).map { .value($0) } ?? .beginning
    }

    /// Puts a value where it belongs.
    ///
    /// - Returns: the outermost value, once it is complete.
    private mutating func complete(_ value: RESPValue) -> RESPValue? {
        var value = value
        while var innermost = self.open.popLast() {
            innermost.elements.append(value)
            innermost.missing -= 1
            guard innermost.missing == 0 else {
                self.open.append(innermost)
                return nil
            }
            // An attribute counts as no element. The value that it describes comes next.
            guard let whole = Self.value(of: innermost) else { return nil }
            value = whole
        }
        return value
    }

    private static func value(of aggregate: Aggregate) -> RESPValue? {
        let elements = aggregate.elements
        return switch aggregate.kind {
        case .array: .array(elements)
        case .set: .set(elements)
        case .push: .push(elements)
        case .attribute: nil
        case .map:
            .map(
                stride(from: 0, to: elements.count, by: 2).map { RESPValue.Entry(elements[$0], elements[$0 + 1]) }
            )
        }
    }

    // MARK: - Lines and texts

    /// The next line without its end; `nil` until it is complete.
    private mutating func line() throws(RESPError) -> ArraySlice<UInt8>? {
        let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        let end = self.buffer[self.scanned...].firstIndex { $0 == lineFeed || $0 == carriageReturn }
        self.scanned = end ?? self.buffer.count
        guard self.scanned - self.position <= Self.longestLine else { throw .tooLarge }
        guard let end, end + 1 < self.buffer.count else {
            if let end, self.buffer[end] == lineFeed { throw RESPError("a line without a carriage return") }
            return nil
        }
        guard self.buffer[end] == carriageReturn, self.buffer[end + 1] == lineFeed else {
            throw RESPError("a line that does not end as a line")
        }
        let line = self.buffer[self.position..<end]
        try self.advance(by: line.count + 2)
        return line
    }

    /// The text whose length was announced; `nil` until it is complete.
    private mutating func text(of blob: Blob) throws(RESPError) -> RESPValue? {
        guard self.buffer.count - self.position >= blob.count + 2 else { return nil }
        let text = self.buffer[self.position..<self.position + blob.count]
        guard self.buffer[text.endIndex..<text.endIndex + 2].elementsEqual("\r\n".utf8) else {
            throw RESPError("a text that is longer than announced")
        }
        self.blob = nil
        try self.advance(by: blob.count + 2)
        switch blob.type {
        case UInt8(ascii: "!"): return .failure(RESPFailure(String(decoding: text, as: UTF8.self)))
        case UInt8(ascii: "="):
            guard text.count >= 4, text[text.startIndex + 3] == UInt8(ascii: ":") else {
                throw RESPError("a verbatim text without a format")
            }
            return .verbatim(format: String(decoding: text.prefix(3), as: UTF8.self), Array(text.dropFirst(4)))
        default: return .blob(Array(text))
        }
    }

    private mutating func advance(by count: Int) throws(RESPError) {
        self.position += count
        self.scanned = self.position
        self.size += count
        guard self.size <= Self.largestValue else { throw .tooLarge }
    }

    // MARK: - Numbers

    /// A length. `nil` is the null of RESP2, -1.
    private static func count(
        _ text: ArraySlice<UInt8>,
        largest: Int,
        isNullable: Bool
    ) throws(RESPError) -> Int? {
        guard !text.elementsEqual("?".utf8) else { throw RESPError("a streamed value") }
        let count = try Self.integer(text)
        if count == -1, isNullable { return nil }
        guard count >= 0 else { throw RESPError("a negative length") }
        guard count <= largest else { throw .tooLarge }
        return Int(count)
    }

    private static func integer(_ text: ArraySlice<UInt8>) throws(RESPError) -> Int64 {
        guard let number = Int64(String(decoding: text, as: UTF8.self)) else { throw RESPError("a malformed number") }
        return number
    }

    private static func bigNumber(_ text: ArraySlice<UInt8>) throws(RESPError) -> String {
        let digits = text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RESPError("a malformed number")
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func double(_ text: ArraySlice<UInt8>) throws(RESPError) -> Double {
        let letters = String(decoding: text, as: UTF8.self)
        // Swift's parser also takes hexadecimal digits.
        let isDecimal = letters.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isDecimal || ["inf", "-inf", "nan", "-nan"].contains(letters), let number = Double(letters) else {
            throw RESPError("a malformed number")
        }
        return number
    }
}

/// What a server sent is not RESP3, or is larger than anything that was asked for.
package struct RESPError: Error, Equatable, Sendable {
    /// What was found.
    package let message: String

    init(_ message: String) { self.message = message }

    static let tooLarge = RESPError("a value larger than any that was asked for")
}
