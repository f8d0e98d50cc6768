/// What the admin API puts up with.
package struct AdminLimits: Sendable {
    /// Bytes of a request's body.
    package var body: Int
    /// How long a body may take to arrive.
    package var bodyTime: Duration
    /// How long a request with a wrong token waits for its answer, so that tokens can't be tried out quickly.
    package var refusalDelay: Duration
    /// How many may wait so at once; one more is told that there are too many.
    package var refusalsWaiting: Int
    /// How long that takes: longer than the wait of the others, so that more connections hardly try more tokens.
    package var crowdDelay: Duration
    /// Connections at once; more wait in the system's queue.
    package var connections: Int
    /// How long a connection may stand without a request.
    package var idleTime: Duration
    /// How long requests under way may go on after a stop.
    package var stopGrace: Duration
    /// Who may be signed in to the dashboard.
    package var sessions: SessionLimits

    package init(
        body: Int = 1 << 20,
        bodyTime: Duration = .seconds(10),
        refusalDelay: Duration = .milliseconds(500),
        refusalsWaiting: Int = 64,
        crowdDelay: Duration = .seconds(2),
        connections: Int = 512,
        idleTime: Duration = .seconds(30),
        stopGrace: Duration = .seconds(30),
        sessions: SessionLimits = SessionLimits()
    ) {
        self.body = body
        self.bodyTime = bodyTime
        self.refusalDelay = refusalDelay
        self.refusalsWaiting = refusalsWaiting
        self.crowdDelay = crowdDelay
        self.connections = connections
        self.idleTime = idleTime
        self.stopGrace = stopGrace
        self.sessions = sessions
    }
}
