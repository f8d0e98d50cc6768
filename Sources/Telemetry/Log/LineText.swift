import TokenModel

/// Lines of the log as bytes. What a value holds can neither end its line nor look like another fact.
struct LineText {
    private let format: LogFormat
    /// The lines so far, each with its end.
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

    /// Adds a time with three places, cut.
    mutating func addMilliseconds(_ key: String, nanoseconds: Int64) {
        self.begin(key)
        let (whole, rest) = (max(nanoseconds, 0) / 1_000).quotientAndRemainder(dividingBy: 1_000)
        self.append(String(whole))
        self.append(rest < 10 ? ".00" : rest < 100 ? ".0" : ".")
        self.append(String(rest))
    }

    /// Adds a value that is already JSON; a line for people shows it as text.
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

    /// Takes the lines so far out.
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
