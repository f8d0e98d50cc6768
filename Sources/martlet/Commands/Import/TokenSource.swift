internal import Glibc

/// Where tokens to import are read from; never the command line, which others on the machine can see.
enum TokenSource {
    case standardInput
    case file(String)

    /// - Parameter account: whose tokens a person at a terminal is asked for.
    func read(for account: String) throws(CommandFailure) -> TokenInput {
        switch self {
        case .standardInput where Terminal.isStandardInput:
            return try TokenInput(Terminal.readHidden("Refresh token for \(PlainText.line(account)) (not shown): "))
        case .standardInput:
            return try TokenInput(Self.contents(STDIN_FILENO, of: "standard input"))
        case .file(let path):
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw CommandFailure(.usage, "can't read \(path): \(SystemText.reason(errno))")
            }
            defer { close(descriptor) }
            return try TokenInput(Self.contents(descriptor, of: path))
        }
    }

    private static func contents(_ descriptor: CInt, of name: String) throws(CommandFailure) -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure(.usage, "can't read \(name): \(SystemText.reason(errno))") }
            guard count > 0 else { break }
            bytes += part.prefix(count)
            guard bytes.count <= 1 << 20 else {
                throw CommandFailure(.usage, "\(name) is far more than a token answer")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.usage, "\(name) is neither a token nor JSON: it is not UTF-8 text")
        }
        return text
    }
}
