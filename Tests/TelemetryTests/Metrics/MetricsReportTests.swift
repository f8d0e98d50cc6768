import Telemetry
import Testing
import TokenModel

@Suite struct MetricsReportTests {
    private var report: MetricsReport {
        let meter = LoopMeter(routes: ["acme", "raw"], log: nil)
        meter.injected(route: 1)
        meter.ended(.sample(route: 1, status: 200), at: BootInstant(nanoseconds: 2_000_000))
        meter.ended(.sample(route: 1, status: 401, replay: .refused), at: BootInstant(nanoseconds: 2_000_000))
        meter.ended(.sample(status: 404), at: BootInstant(nanoseconds: 2_000_000))
        var traffic = meter.counts
        traffic.downstreamConnections = 3
        traffic.upstreamConnections = 2
        let refreshes = RefreshMeter([ProviderID("login")], outcomes: ["success", "dead"])
        refreshes.add("success", of: ProviderID("login"), took: .milliseconds(7))
        refreshes.add("success", of: ProviderID("nobody"), took: .milliseconds(7))
        let store = DurationMeter(["read", "write"])
        store.add("read", took: .milliseconds(1))
        return MetricsReport(
            version: "1.2.3",
            routes: ["acme", "raw"],
            traffic: traffic,
            waiters: 5,
            caches: [.init(route: "acme", hits: 11, misses: 12, revalidations: 13, evictions: 14, bytes: 15)],
            accounts: [.init(provider: ProviderID("login"), state: "valid", count: 4)],
            troubles: [.init(provider: ProviderID("login"), kind: "token_refused", count: 2)],
            refreshes: refreshes.providers,
            store: store.operations,
            repairs: 8,
            standings: [.init(provider: ProviderID("login"), reason: "failing", isHeld: true)],
            events: [("refresh_failed", 6)],
            alerts: [("delivered", 7)]
        )
    }

    @Test(arguments: [
        #"martlet_requests_total{route="acme",status_class="2xx"} 1"#,
        #"martlet_requests_total{route="acme",status_class="4xx"} 1"#,
        #"martlet_requests_total{route="acme",status_class="5xx"} 0"#,
        #"martlet_requests_total{route="",status_class="4xx"} 1"#,
        #"martlet_requests_total{route="raw",status_class="none"} 0"#,
        #"martlet_request_duration_seconds_count{route="acme"} 2"#,
        #"martlet_request_duration_seconds_bucket{route="acme",le="0.001"} 2"#,
        #"martlet_request_duration_seconds_bucket{route="acme",le="0.0005"} 0"#,
        #"martlet_injections_total{route="acme"} 1"#,
        #"martlet_injections_total{route="raw"} 0"#,
        #"martlet_replays_total{route="acme",outcome="refused"} 1"#,
        #"martlet_replays_total{route="acme",outcome="answered"} 0"#,
        #"martlet_cache_hits_total{route="acme"} 11"#,
        #"martlet_cache_misses_total{route="acme"} 12"#,
        #"martlet_cache_revalidations_total{route="acme"} 13"#,
        #"martlet_cache_evictions_total{route="acme"} 14"#,
        #"martlet_cache_bytes{route="acme"} 15"#,
        #"martlet_refreshes_total{provider="login",outcome="success"} 1"#,
        #"martlet_refreshes_total{provider="login",outcome="dead"} 0"#,
        #"martlet_refresh_duration_seconds_sum{provider="login"} 0.007"#,
        "martlet_refresh_waiters 5",
        #"martlet_accounts{provider="login",state="valid"} 4"#,
        #"martlet_account_troubles{provider="login",trouble="token_refused"} 2"#,
        #"martlet_store_duration_seconds_count{operation="read"} 1"#,
        #"martlet_store_duration_seconds_count{operation="write"} 0"#,
        "martlet_store_repairs_total 8",
        #"martlet_provider_held{provider="login",reason="failing"} 1"#,
        #"martlet_events_total{event="refresh_failed"} 6"#,
        #"martlet_webhook_alerts_total{outcome="delivered"} 7"#,
        #"martlet_connections{side="downstream"} 3"#,
        #"martlet_connections{side="upstream"} 2"#,
        #"martlet_build_info{version="1.2.3"} 1"#,
    ])
    func `the report contains every documented metric`(line: String) {
        #expect(self.report.text.split(separator: "\n").contains(line[...]))
    }

    @Test func `each metric is described once, and all its samples follow`() {
        var described: [Substring] = []
        for line in self.report.text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3)
            if words[0] == "#" {
                if words[1] == "TYPE" { described.append(words[2]) }
            } else {
                #expect(line.hasPrefix(described.last ?? "nothing"))
            }
        }
        #expect(Set(described).count == described.count)
        #expect(described.count == 21)
        #expect(!self.report.text.contains("nobody"))
    }
}
