internal import Glibc

/// The terminal behind standard input, output or error, if there is one.
enum Terminal {
    static var isStandardInput: Bool { isatty(STDIN_FILENO) == 1 }
    static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }
    static var isStandardError: Bool { isatty(STDERR_FILENO) == 1 }

    /// The size of the terminal at standard output; `nil` if that is not a terminal.
    static var size: (rows: Int, columns: Int)? {
        guard Self.isStandardOutput else { return nil }
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 2, size.ws_col > 0 else {
            return (24, 80)
        }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    /// Asks on standard error and reads a line without echo.
    ///
    /// The terminal delivers each byte as it is typed. Its line mode ends lines after 4,095 bytes, and some tokens are
    /// longer.
    static func readHidden(_ question: HiddenQuestion) throws(CommandFailure) -> String {
        var before = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &before) == 0 else {
            throw CommandFailure(.usage, "the terminal can't be asked; \(question.otherwise)")
        }
        var hidden = before
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else {
            throw CommandFailure(.usage, "the terminal can't hide what is typed; \(question.otherwise)")
        }
        defer {
            _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            Console.ask("\n")
        }
        // What is typed as soon as the question is there must be hidden, and must not be flushed.
        Console.ask(question.text)
        var line = HiddenLine()
        while true {
            var byte: UInt8 = 0
            let count = unsafe read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { throw CommandFailure(.usage, "the terminal is gone") }
            switch line.take(byte) {
            case .goesOn: continue
            case .ended: return String(decoding: line.bytes, as: UTF8.self)
            case .cancelled: throw CommandFailure(.no, question.cancelled)
            case .tooLong: throw CommandFailure(.usage, "that is far more than \(question.wanted)")
            }
        }
    }
}

/// A question whose answer is not shown while it is typed.
struct HiddenQuestion {
    /// The text before the cursor.
    let text: String
    /// What is asked for, such as `a token`.
    let wanted: String
    /// Advice if the terminal can't be used.
    let otherwise: String
    /// The message after Ctrl-C.
    let cancelled: String
}
