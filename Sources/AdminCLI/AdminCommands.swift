package import ArgumentParser

/// The commands of the program beside `serve` and `check`. Most of them talk to a running gateway's admin API; `store`
/// and `audit --store` open the store themselves, `callers new` and `admin new` only print.
package enum AdminCommands {
    /// In the order of `martlet --help`.
    package static let all: [any ParsableCommand.Type] = [
        AccountsCommand.self, KillCommand.self, ReviveCommand.self, KillsCommand.self, ReplicasCommand.self,
        CallersCommand.self, AdminCommand.self, StatusCommand.self, HealthCommand.self, StoreCommand.self,
        AuditCommand.self,
    ]
}
