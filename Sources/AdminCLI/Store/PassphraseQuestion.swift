internal import GatewayServer
internal import SystemSupport
internal import TextCoding
internal import TokenModel
internal import TokenStorage

/// How a command gets a passphrase: from a file, or from the person at the terminal. Never from the command line, which
/// other users of the machine can see.
enum PassphraseQuestion {
    /// The passphrase of the envelope at `path`.
    ///
    /// - Parameters:
    ///   - file: the file that has it, without the newline at its end; `nil` asks at the terminal.
    ///   - option: the option that names such a file.
    static func present(
        _ path: String,
        file: String?,
        option: String = "--passphrase-file"
    ) throws(CommandFailure) -> Secret {
        if let file { return try Self.contents(of: file) }
        return try Self.ask("Passphrase of \(PlainText.line(path)) (not shown): ", option)
    }

    /// A new passphrase, which a person gives twice: what was mistyped would open nothing.
    static func new(_ path: String, file: String?, option: String) throws(CommandFailure) -> Secret {
        if let file { return try Self.contents(of: file) }
        let first = try Self.ask("New passphrase for \(PlainText.line(path)) (not shown): ", option)
        guard try Self.ask("The same again: ", option) == first else {
            throw CommandFailure(.usage, "the two passphrases differ; nothing was changed")
        }
        return first
    }

    private static func ask(_ question: String, _ option: String) throws(CommandFailure) -> Secret {
        guard Terminal.isStandardInput else {
            throw CommandFailure(
                .usage,
                "there is no terminal at which to ask for the passphrase; \(option) names a file"
            )
        }
        return Secret(
            try Terminal.readHidden(
                HiddenQuestion(
                    text: question,
                    wanted: "a passphrase",
                    otherwise: "\(option) names a file",
                    cancelled: "nothing was done"
                )
            )
        )
    }

    private static func contents(of file: String) throws(CommandFailure) -> Secret {
        do throws(FileError) { return try SecretFile.read(file) } catch {
            throw CommandFailure(.usage, "\(file) \(error.message)")
        }
    }
}

extension SealingKeyOrigin {
    /// The keys for a command without a gateway.
    ///
    /// - Parameters:
    ///   - passphraseFile: the file that has the passphrase; `nil` asks for it, if one is needed.
    ///   - option: the option that names such a file.
    func keys(
        passphraseFile: String?,
        option: String = "--passphrase-file"
    ) async throws(CommandFailure) -> any KeyRingSource {
        var offered: OfferedKey?
        if self.need == .passphrase {
            offered = .passphrase(
                try PassphraseQuestion.present(self.name, file: passphraseFile, option: option)
            )
        }
        do throws(KeyRingError) { return try await self.keys(offered: offered) } catch {
            throw CommandFailure(StartError(error))
        }
    }
}
