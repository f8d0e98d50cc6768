import TestKit
import Testing

/// `martlet cache` against a gateway.
@Suite struct CacheCommandTests {
    @Test func `the cache of a route is shown, measured, and purged with a record`() async throws {
        // Given a gateway with a route that has a cache
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, route: "cache: { max_size: 8MiB }")

        // Then commands and metrics show it, empty
        let list = try await gateway.martlet("cache")
        #expect(list.exitCode == 0, "\(list.errors)")
        #expect(list.output.contains("acme   0          0 B of 8 MiB"), "\(list.output)")
        #expect(try await gateway.martlet("cache", "list").output == list.output)
        let json = try await gateway.martlet("cache", "--json")
        #expect(json.output.contains(#""max_bytes":8388608"#), "\(json.output)")
        let metrics = try await Program.run("/usr/bin/curl", ["-s", "\(gateway.metrics)/metrics"], in: directory)
        #expect(metrics.output.contains(#"martlet_cache_bytes{route="acme"} 0"#))

        // And a purge names what it reached, and is in the audit log
        let purge = try await gateway.martlet("cache", "purge", "--route", "acme", "--path", "/acme/users")
        #expect(purge.exitCode == 0, "\(purge.errors)")
        #expect(
            purge.output.hasPrefix("purged 0 stored responses, 0 B, from the memory of this gateway process\nothers")
        )
        let audit = try await gateway.martlet("audit")
        #expect(audit.output.contains("cache_purge"))
        #expect(audit.output.contains("route acme, path /acme/users"), "\(audit.output)")
        withExtendedLifetime(mock) {}
    }

    @Test func `an unknown route is wrong input, with a suggestion`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, route: "cache: {}")
        let outcome = try await gateway.martlet("cache", "purge", "--route", "acne")
        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.contains("did you mean acme?"), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        withExtendedLifetime(mock) {}
    }

    @Test func `a route without the key has no cache to show or to purge`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        #expect(try await gateway.martlet("cache").output.hasPrefix("no route has a cache"))
        #expect(try await gateway.martlet("cache", "purge", "--route", "acme").exitCode == 64)
        #expect(try await gateway.martlet("cache", "purge").exitCode == 0)
        withExtendedLifetime(mock) {}
    }

    @Test(arguments: [
        (["--path", "acme"], "--path begins with /"), (["--path", ""], "--path begins with /"),
        (["--route", "a", "--route", "b"], "name at most one --route, one --account and one --path"),
        (["--account", "a", "--account", "a"], "name at most one --route, one --account and one --path"),
    ])
    func `wrong options of a purge are refused before anything is sent`(options: [String], fault: String) async throws {
        let directory = try TemporaryDirectory()
        let outcome = try await Program.run("martlet", ["cache", "purge"] + options, in: directory)
        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.contains(fault), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func `help has examples, and says that a purge reaches one process`() async throws {
        let directory = try TemporaryDirectory()
        for (arguments, example) in [
            (["cache"], "martlet cache purge --route acme"), (["cache", "list"], "martlet cache list"),
            (["cache", "purge"], "martlet cache purge --route acme --path /acme/users"),
        ] {
            let outcome = try await Program.run("martlet", arguments + ["--help"], in: directory)
            #expect(outcome.exitCode == 0)
            #expect(outcome.output.contains(example))
        }
        let help = try await Program.run("martlet", ["cache", "purge", "--help"], in: directory)
        #expect(help.output.contains("This reaches one gateway process."))
    }
}
