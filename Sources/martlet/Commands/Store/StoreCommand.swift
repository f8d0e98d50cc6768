internal import ArgumentParser

/// `martlet store`.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Look after the store of tokens: prove that it opens, change its sealing key.",
        discussion: """
            Works on the store that the configuration names, whether gateways run on it or not.

            Example:
              martlet store verify
              martlet store rekey
            """,
        subcommands: [VerifyStoreCommand.self, RekeyStoreCommand.self]
    )
}
