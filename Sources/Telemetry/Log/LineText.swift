import TokenModel

/// Builds lines of the log as bytes. No value can end its line or look like another key.
struct LineText {
    private let format: LogFormat
    /// The lines so far, each with its line feed.
    private(set) var bytes: [UInt8] = []
    private var stamp = TimeStamp()

    init(_ format: LogFormat) {
        self.format = format
    }

    /// Begins a line.
    mutating func begin(at time: WallTime, level: String, message: String) {
        switch self.format {
        case .json:
            self.append("{\"time\":\"")
            self.stamp.append(time, to: &self.bytes)
            self.append("\",\"level\":\"")
            self.append(level)
            self.append("\",\"message\":")
            self.bytes.appendQuoted(message)
        case .text:
            self.stamp.append(time, to: &self.bytes)
            self.append(" ")
            self.append(level)
            self.append(" ")
            self.bytes.appendWord(message, allowingSpaces: true)
        }
    }

    mutating func add(_ key: String, _ value: String) {
        self.begin(key)
        switch self.format {
        case .json: self.bytes.appendQuoted(value)
        case .text: self.bytes.appendWord(value)
        }
    }

    mutating func add(_ key: String, _ value: Int64) {
        self.begin(key)
        self.append(String(value))
    }

    mutating func add(_ key: String, _ value: Bool) {
        self.begin(key)
        self.append(value ? "true" : "false")
    }

    /// Adds a time in milliseconds with three decimal places, rounded down.
    mutating func addMilliseconds(_ key: String, nanoseconds: Int64) {
        self.begin(key)
        let (whole, rest) = (max(nanoseconds, 0) / 1_000).quotientAndRemainder(dividingBy: 1_000)
        self.append(String(whole))
        self.append(rest < 10 ? ".00" : rest < 100 ? ".0" : ".")
        self.append(String(rest))
    }

    /// Adds a value that is already JSON. The text format shows it as text.
    mutating func add(_ key: String, json: [UInt8]) {
        self.begin(key)
        switch self.format {
        case .json: self.bytes += json
        case .text: self.bytes.appendWord(String(decoding: json, as: UTF8.self))
        }
    }

    /// Ends the line.
    mutating func end() {
        self.append(self.format == .json ? "}\n" : "\n")
    }

    /// Appends a finished line.
    mutating func append(_ line: [UInt8]) {
        self.bytes += line
    }

    /// Returns the lines so far, and removes them.
    mutating func take() -> [UInt8] {
        defer { self.bytes.removeAll(keepingCapacity: false) }
        return self.bytes
    }

    private mutating func begin(_ key: String) {
        switch self.format {
        case .json:
            self.append(",")
            let isTaken = key == "time" || key == "level" || key == "message"
            self.bytes.appendQuoted(isTaken ? key + "_" : key)
            self.append(":")
        case .text:
            self.append(" ")
            self.bytes.appendWord(key)
            self.append("=")
        }
    }

    private mutating func append(_ text: String) {
        self.bytes += text.utf8
    }
}

/// The format of log lines.
package enum LogFormat: Sendable {
    /// One JSON object per line: `time` (RFC 3339, UTC), `level` and `message`, then the metadata as further members.
    case json
    /// Time, level and message, then the metadata as `key=value`; for people.
    case text
}

/// Formats times as RFC 3339. Caches the text of the last second, because many lines share one.
struct TimeStamp {
    private var second = Int64.min
    private var text: [UInt8] = []
    /// 9999-12-31T23:59:59.999Z.
    private static let last: Int64 = 253_402_300_799_999

    mutating func append(_ time: WallTime, to bytes: inout [UInt8]) {
        // A time before 1970 or after 9999, which the format can't show, becomes 1970: no log is written at such a
        // time.
        let isShown = (0...Self.last).contains(time.millisecondsSince1970)
        let (second, fraction) = (isShown ? time.millisecondsSince1970 : 0).quotientAndRemainder(dividingBy: 1_000)
        if second != self.second || self.text.isEmpty {
            self.second = second
            // Up to and including the point before the milliseconds.
            self.text = Array(WallTime(millisecondsSince1970: second * 1_000).rfc3339.utf8.dropLast(4))
        }
        let zero = UInt8(ascii: "0")
        bytes += self.text
        bytes.append(zero + UInt8(fraction / 100))
        bytes.append(zero + UInt8(fraction / 10 % 10))
        bytes.append(zero + UInt8(fraction % 10))
        bytes.append(UInt8(ascii: "Z"))
    }
}

/// Untrusted text in a line of the log.
extension [UInt8] {
    /// How much of one text is kept, in bytes. A longer text ends in `…`.
    private static var longestText: Int { 8_192 }

    /// Appends `text` as a JSON string (RFC 8259 §7). Also escapes control, format and line-breaking characters where
    /// JSON does not require it: terminals obey them, and some readers end a line at them.
    mutating func appendQuoted(_ text: String) {
        self.append(UInt8(ascii: "\""))
        let isPlain =
            text.utf8.count <= Self.longestText
            && text.utf8.allSatisfy { 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain { self += text.utf8 } else { self.appendEscaped(text) }
        self.append(UInt8(ascii: "\""))
    }

    /// Appends `text` as it is if it can't be mistaken for anything else; otherwise quoted.
    mutating func appendWord(_ text: String, allowingSpaces: Bool = false) {
        let isPlain =
            !text.isEmpty && text.utf8.count <= Self.longestText
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "="): false
                case UInt8(ascii: " "): allowingSpaces
                default: 0x21..<0x7F ~= byte
                }
            }
        if isPlain { self += text.utf8 } else { self.appendQuoted(text) }
    }

    private mutating func appendEscaped(_ text: String) {
        let start = self.count
        for scalar in text.unicodeScalars {
            guard self.count - start < Self.longestText else {
                self += "…".utf8
                return
            }
            switch scalar {
            case "\"", "\\":
                self.append(UInt8(ascii: "\\"))
                self.append(UInt8(truncatingIfNeeded: scalar.value))
            case "\n": self += "\\n".utf8
            case "\r": self += "\\r".utf8
            case "\t": self += "\\t".utf8
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                    for unit in UTF16.encode(scalar) ?? .init([]) { self.appendUnit(unit) }
                default: self += UTF8.encode(scalar) ?? .init([])
                }
            }
        }
    }

    /// Appends `\u` and four hexadecimal digits.
    private mutating func appendUnit(_ unit: UInt16) {
        let digits = String(unit, radix: 16)
        self += "\\u".utf8
        for _ in digits.utf8.count..<4 { self.append(UInt8(ascii: "0")) }
        self += digits.utf8
    }
}
