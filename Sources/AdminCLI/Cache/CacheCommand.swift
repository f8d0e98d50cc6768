internal import ArgumentParser
internal import FoundationEssentials

/// `martlet cache`.
struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Show the responses that a gateway keeps in memory, or have it forget some.",
        discussion: """
            Each gateway process has caches of its own, for the routes whose configuration has cache.

            Example:
              martlet cache
              martlet cache purge --route acme
            """,
        subcommands: [ListCachesCommand.self, PurgeCacheCommand.self],
        defaultSubcommand: ListCachesCommand.self
    )
}

/// `martlet cache list`.
struct ListCachesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the cache of each route: what it holds, and what it has done since the gateway started.",
        discussion: """
            Example:
              martlet cache list
            """
    )

    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.caches)
        if self.admin.isJSON { return Console.say(reply.text) }
        for line in CacheText.lines(try reply.read(CachesReply.self)) { Console.say(line) }
    }
}

/// `martlet cache purge`.
struct PurgeCacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Have a gateway forget stored responses: all, or those of a route, an account or a path.",
        discussion: """
            When it ends, the gateway gives none of them to a caller any more. It asks the upstream again instead. Options \
            together name what all of them match.

            This reaches one gateway process. Others on the same store have their own caches: run it once for each, with \
            --admin and its address. A killer may do it as well as an operator.

            Example:
              martlet cache purge --route acme --path /acme/users
              for host in web-1 web-2; do martlet cache purge --admin https://$host:8081 --admin-token-file token; done
            """
    )

    @Option(
        name: .customLong("route"),
        parsing: .singleValue,
        help: ArgumentHelp("Only those of one route.", valueName: "name")
    )
    var routes: [String] = []
    @Option(
        name: .customLong("account"),
        parsing: .singleValue,
        help: ArgumentHelp("Only those that were fetched with the tokens of one account.", valueName: "name")
    )
    var accounts: [String] = []
    @Option(
        name: .customLong("path"),
        parsing: .singleValue,
        help: ArgumentHelp("Only those whose path, as callers send it, begins with this.", valueName: "path")
    )
    var paths: [String] = []
    @OptionGroup var admin: AdminOptions

    func validate() throws {
        // If several are named, none may be ignored silently.
        guard [self.routes, self.accounts, self.paths].allSatisfy({ $0.count < 2 }) else {
            throw ValidationError("name at most one --route, one --account and one --path")
        }
        guard self.paths.allSatisfy({ $0.hasPrefix("/") }) else { throw ValidationError("--path begins with /") }
    }

    func run() async throws {
        let order = PurgeOrder(route: self.routes.first, account: self.accounts.first, path: self.paths.first)
        let reply = try await self.admin.client().send(.purgeCaches(Array(try JSONEncoder().encode(order))))
        if self.admin.isJSON { return Console.say(reply.text) }
        for line in CacheText.lines(try reply.read(PurgeReply.self)) { Console.say(line) }
    }
}
