internal import Glibc
internal import TextCoding

/// A sign-in whose answer is typed in.
package struct PasteDialogue: Sendable {
    /// Reads one line from the user.
    private let read: @Sendable () throws(CommandFailure) -> String
    /// Prints why a line was no answer.
    private let complain: @Sendable (String) -> Void
    /// A terminal is asked again after a mistake; a pipe is not.
    private let attempts: Int

    package init(
        attempts: Int,
        read: @escaping @Sendable () throws(CommandFailure) -> String,
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.attempts = attempts
        self.read = read
        self.complain = complain
    }

    /// The user behind standard input.
    static let standardInput = PasteDialogue(
        // What is pasted after the command has ended would be the shell's, and visible.
        attempts: Terminal.isStandardInput ? 20 : 1,
        read: { () throws(CommandFailure) in
            Terminal.isStandardInput ? try Terminal.readHidden(Self.question) : try Self.line(from: STDIN_FILENO)
        },
        complain: { Console.complain($0) }
    )

    private static let question = HiddenQuestion(
        text: "Address that the browser was sent to (not shown): ",
        wanted: "an address",
        otherwise: "pipe the address in",
        cancelled: SignInSession.cancelled.message
    )

    /// Asks until the sign-in has ended. A sign-in that gets no answer is cancelled at the gateway.
    package func outcome(of session: SignInSession) async throws(CommandFailure) -> SignInOutcome {
        do throws(CommandFailure) {
            var attempt = 1
            while true {
                let mistake: CommandFailure
                do throws(CommandFailure) {
                    switch try await session.answer(SignInAnswer(pasted: self.read())) {
                    case .ended(let outcome): return outcome
                    case .refused(let reason): mistake = CommandFailure(.usage, reason)
                    }
                } catch {
                    guard error.status == .usage else { throw error }
                    mistake = error
                }
                guard attempt < self.attempts else {
                    throw CommandFailure(mistake.status, "\(mistake.message); the sign-in is cancelled")
                }
                attempt += 1
                self.complain("\(mistake.message); try again")
            }
        } catch {
            _ = await session.cancel()
            throw error
        }
    }

    /// Reads one line, and nothing behind it.
    package static func line(from descriptor: CInt) throws(CommandFailure) -> String {
        var bytes: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = unsafe Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandFailure(.usage, "can't read standard input: \(SystemText.reason(errno))")
            }
            guard count > 0, byte != UInt8(ascii: "\n") else { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
            guard bytes.count <= 1 << 20 else {
                throw CommandFailure(.usage, "standard input is far more than an address")
            }
        }
    }
}
