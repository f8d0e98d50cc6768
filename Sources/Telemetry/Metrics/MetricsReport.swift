package import TokenModel

/// All metrics at one moment. Every label comes from the configuration or from this program.
package struct MetricsReport: Sendable {
    /// The number of accounts of one provider in one state, named as in the admin API.
    package struct Accounts: Sendable {
        package let provider: ProviderID
        package let state: String
        package let count: Int

        package init(provider: ProviderID, state: String, count: Int) {
            self.provider = provider
            self.state = state
            self.count = count
        }
    }

    /// The number of accounts of one provider with one issue beside their state, named as in the admin API.
    package struct Issues: Sendable {
        package let provider: ProviderID
        package let kind: String
        package let count: Int

        package init(provider: ProviderID, kind: String, count: Int) {
            self.provider = provider
            self.kind = kind
            self.count = count
        }
    }

    /// Whether a provider is held, for one reason: it then gets only probes.
    package struct Availability: Sendable {
        package let provider: ProviderID
        /// Why it would be held; one word.
        package let reason: String
        package let isHeld: Bool

        package init(provider: ProviderID, reason: String, isHeld: Bool) {
            self.provider = provider
            self.reason = reason
            self.isHeld = isHeld
        }
    }

    /// The response cache of one route.
    package struct Cache: Sendable {
        /// The name of the route.
        package let route: String
        package let hits: UInt64
        package let misses: UInt64
        package let revalidations: UInt64
        package let evictions: UInt64
        package let bytes: Int

        package init(
            route: String,
            hits: UInt64,
            misses: UInt64,
            revalidations: UInt64,
            evictions: UInt64,
            bytes: Int
        ) {
            self.route = route
            self.hits = hits
            self.misses = misses
            self.revalidations = revalidations
            self.evictions = evictions
            self.bytes = bytes
        }
    }

    /// The version of this program.
    package let version: String
    /// The names, in the order of the configuration.
    package let routes: [String]
    /// The sum over all event loops.
    package let traffic: TrafficCounts
    /// Requests that wait for a token.
    package let waiters: Int
    /// Those of the routes that have one.
    package let caches: [Cache]
    package let accounts: [Accounts]
    package let issues: [Issues]
    package let refreshes: [RefreshMeter.Provider]
    package let store: [(operation: String, durations: DurationCounts)]
    package let standings: [Availability]
    /// Sorted by name.
    package let events: [(name: String, count: UInt64)]
    /// Records that the store had lost and were put back.
    package let repairs: UInt64
    /// The outcomes of webhook posts and alerts, by name.
    package let alerts: [(outcome: String, count: UInt64)]

    package init(
        version: String,
        routes: [String],
        traffic: TrafficCounts,
        waiters: Int,
        caches: [Cache] = [],
        accounts: [Accounts],
        troubles: [Issues] = [],
        refreshes: [RefreshMeter.Provider],
        store: [(operation: String, durations: DurationCounts)],
        repairs: UInt64 = 0,
        standings: [Availability] = [],
        events: [(name: String, count: UInt64)] = [],
        alerts: [(outcome: String, count: UInt64)] = []
    ) {
        self.version = version
        self.routes = routes
        self.traffic = traffic
        self.waiters = waiters
        self.caches = caches
        self.accounts = accounts
        self.issues = troubles
        self.refreshes = refreshes
        self.store = store
        self.repairs = repairs
        self.standings = standings
        self.events = events
        self.alerts = alerts
    }

    /// The media type of ``text``.
    package static let contentType = PrometheusText.contentType

    /// The report in the Prometheus text format.
    package var text: String {
        var text = PrometheusText()
        self.describeRequests(in: &text)
        self.describeCaches(in: &text)
        self.describeTokens(in: &text)
        text.begin("martlet_store_duration_seconds", .histogram, "How long calls of the token store took.")
        for (operation, durations) in self.store { text.sample(["operation": operation], durations) }
        text.begin("martlet_store_repairs_total", .counter, "Records that the store had lost and were put back.")
        text.sample([:], self.repairs)
        text.begin("martlet_connections", .gauge, "Open connections, of callers (downstream) and to upstreams.")
        text.sample(["side": "downstream"], self.traffic.downstreamConnections)
        text.sample(["side": "upstream"], self.traffic.upstreamConnections)
        text.begin("martlet_build_info", .gauge, "Always 1; which version this is.")
        text.sample(["version": self.version], 1)
        return text.text
    }

    /// The counts of each route with its name. Requests that matched no route come first, under an empty name.
    private var namedRoutes: [(String, RouteCounts)] {
        Array(zip([""] + self.routes, self.traffic.routes))
    }

    private func describeRequests(in text: inout PrometheusText) {
        text.begin(
            "martlet_requests_total",
            .counter,
            "Requests that are over, by the class of the answer's status; none: the caller got no answer."
        )
        for (route, counts) in self.namedRoutes {
            for statusClass in StatusClass.allCases {
                text.sample(["route": route, "status_class": statusClass.label], counts[statusClass])
            }
        }
        text.begin(
            "martlet_request_duration_seconds",
            .histogram,
            "From a request's head to the end of its answer, the caller's own pace included."
        )
        for (route, counts) in self.namedRoutes { text.sample(["route": route], counts.durations) }
        let routes = self.namedRoutes.dropFirst()
        text.begin("martlet_injections_total", .counter, "Request heads that left for an upstream with a token.")
        for (route, counts) in routes { text.sample(["route": route], counts.injections) }
        text.begin("martlet_replays_total", .counter, "Requests whose token an upstream called dead, by what followed.")
        for (route, counts) in routes {
            for outcome in ReplayOutcome.allCases {
                text.sample(["route": route, "outcome": outcome.label], counts[outcome])
            }
        }
    }

    private func describeCaches(in text: inout PrometheusText) {
        func count(_ name: String, _ help: String, _ value: (Cache) -> UInt64) {
            text.begin("martlet_cache_\(name)_total", .counter, help)
            for cache in self.caches { text.sample(["route": cache.route], value(cache)) }
        }
        count("hits", "Requests that were answered from memory.", \.hits)
        count("misses", "Requests that went upstream, as nothing stored could answer them.", \.misses)
        count("revalidations", "Requests that asked upstream whether what is stored is still good.", \.revalidations)
        count("evictions", "Stored responses that made room for others.", \.evictions)
        text.begin("martlet_cache_bytes", .gauge, "Memory that stored responses take.")
        for cache in self.caches { text.sample(["route": cache.route], cache.bytes) }
    }

    private func describeTokens(in text: inout PrometheusText) {
        text.begin("martlet_refreshes_total", .counter, "Token requests to providers, by what the answer meant.")
        for provider in self.refreshes {
            for (outcome, count) in provider.outcomes {
                text.sample(["provider": provider.id.rawValue, "outcome": outcome], count)
            }
        }
        text.begin("martlet_refresh_duration_seconds", .histogram, "How long token requests to providers took.")
        for provider in self.refreshes { text.sample(["provider": provider.id.rawValue], provider.durations) }
        text.begin("martlet_refresh_waiters", .gauge, "Requests that wait for a token.")
        text.sample([:], self.waiters)
        text.begin("martlet_accounts", .gauge, "Accounts of the configuration, by state.")
        for accounts in self.accounts {
            text.sample(["provider": accounts.provider.rawValue, "state": accounts.state], accounts.count)
        }
        text.begin("martlet_account_troubles", .gauge, "Accounts with no next token in sight, whatever their state.")
        for troubles in self.issues {
            text.sample(["provider": troubles.provider.rawValue, "trouble": troubles.kind], troubles.count)
        }
        text.begin("martlet_provider_held", .gauge, "1 while a provider is sent nothing but a probe, by why.")
        for standing in self.standings {
            let labels: PrometheusText.Labels = ["provider": standing.provider.rawValue, "reason": standing.reason]
            text.sample(labels, standing.isHeld ? 1 : 0)
        }
        text.begin("martlet_events_total", .counter, "What operators are told of, by kind.")
        for (name, count) in self.events { text.sample(["event": name], count) }
        text.begin("martlet_webhook_alerts_total", .counter, "Posts to the webhook, and alerts that were given up.")
        for (outcome, count) in self.alerts { text.sample(["outcome": outcome], count) }
    }
}
