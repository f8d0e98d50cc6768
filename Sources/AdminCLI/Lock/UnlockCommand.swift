internal import ArgumentParser
internal import FoundationEssentials
internal import SystemSupport
internal import TokenModel

/// `martlet unlock`.
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Give a locked gateway its keys back.",
        usage: "martlet unlock [--key-file <file>] [<options>]",
        discussion: """
            Where store.sealing_key says passphrase, it asks for the passphrase without showing it; piped in, it is the \
            first line. Otherwise the gateway gets its key as at a start, and --key-file gives it one instead.

            Exits with 1 where the passphrase or key is wrong, or the gateway can't open its store, and with 64 where nothing
            was given or a new passphrase is too short; it stays locked then.

            Example:
              martlet unlock
              martlet unlock --key-file /media/key/sealing.key
            """
    )

    @Option(help: ArgumentHelp("A sealing key to give to the gateway.", valueName: "file")) var keyFile: String?
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        let before = try await client.send(.lockStatus)
        let lock = try before.read(LockReply.self)
        guard lock.state != "open" else { return Console.say(self.admin.isJSON ? before.text : "the gateway is open") }
        let body = try self.body(for: lock.needs)
        let reply = try await client.send(.unlock(Array(try JSONEncoder().encode(body))))
        let after = try reply.read(LockReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else {
            for line in LockText(times: RelativeTime(now: .now)).lines(after) { Console.say(line) }
        }
        guard after.state != "open" else { return }
        throw CommandFailure(.no, "the gateway is not open yet: martlet status shows how it goes on")
    }

    private func body(for need: String?) throws(CommandFailure) -> UnlockBody {
        if let keyFile { return UnlockBody(key: try Self.key(in: keyFile)) }
        switch need {
        case "passphrase": return UnlockBody(passphrase: try Passphrase.read())
        case "new_passphrase": return UnlockBody(passphrase: try Passphrase.readNew())
        case "key":
            throw CommandFailure(.usage, "the gateway needs a key: give it one with --key-file FILE")
        default: return UnlockBody()
        }
    }

    private static func key(in path: String) throws(CommandFailure) -> String {
        do throws(FileError) {
            return try SecretFile.read(path).withUnredacted { bytes in
                String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
            }
        } catch {
            throw CommandFailure(.usage, "\(path) \(error.message)")
        }
    }
}

/// A passphrase as a user gives it: typed and not shown, or piped in. Never on the command line, which other users of
/// the machine can see.
enum Passphrase {
    private static let cancelled = "nothing was unlocked"

    static func read() throws(CommandFailure) -> String {
        guard Terminal.isStandardInput else {
            guard let line = readLine(), !line.isEmpty else {
                throw CommandFailure(.usage, "standard input holds no passphrase")
            }
            return line
        }
        return try Self.ask("Passphrase (not shown): ")
    }

    /// Asks twice at a terminal: nobody would know a passphrase with a typing error.
    static func readNew() throws(CommandFailure) -> String {
        guard Terminal.isStandardInput else { return try Self.read() }
        let passphrase = try Self.ask("New passphrase of the store (not shown): ")
        guard try Self.ask("The same again: ") == passphrase else {
            throw CommandFailure(.no, "the two are not the same; \(Self.cancelled)")
        }
        return passphrase
    }

    private static func ask(_ text: String) throws(CommandFailure) -> String {
        let line = try Terminal.readHidden(
            HiddenQuestion(text: text, wanted: "a passphrase", otherwise: "pipe it in", cancelled: Self.cancelled)
        )
        guard !line.isEmpty else { throw CommandFailure(.usage, "no passphrase was typed; \(Self.cancelled)") }
        return line
    }
}
