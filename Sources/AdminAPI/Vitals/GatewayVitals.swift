package import TokenModel

/// A process's identity and state, and whether it can serve callers.
package struct GatewayVitals: Equatable, Sendable {
    /// The program's version.
    package var version: String
    /// The responding replica.
    package var replica: Replica
    /// Whether accounts can be read.
    package var store: Store
    /// Where callers connect.
    package var listeners: [Listener]
    /// Whether the kill log was read recently enough for tokens to be put into requests.
    package var isLeaseHeld: Bool
    /// Whether the process has closed its listeners on purpose, and ends after its last requests.
    package var isStopping: Bool
    /// The outcome of the last reload.
    package var configuration: Configuration

    package init(
        version: String,
        replica: Replica,
        store: Store,
        listeners: [Listener],
        isLeaseHeld: Bool = true,
        isStopping: Bool = false,
        configuration: Configuration = Configuration()
    ) {
        self.configuration = configuration
        self.isLeaseHeld = isLeaseHeld
        self.isStopping = isStopping
        self.version = version
        self.replica = replica
        self.store = store
        self.listeners = listeners
    }

    /// Whether a caller's request would be served.
    package var isReady: Bool {
        self.store.isOpen && self.areListenersBound && self.isLeaseHeld && !self.isStopping
    }

    /// Whether there is a listener, and all listeners are bound.
    package var areListenersBound: Bool { !self.listeners.isEmpty && self.listeners.allSatisfy(\.isBound) }
}

extension GatewayVitals {
    /// The responding process among those that share a store.
    package struct Replica: Equatable, Sendable {
        /// Used for display only.
        package var name: String
        /// A new value for each start.
        package var incarnation: IncarnationID
        /// By the wall clock.
        package var startedAt: WallTime

        package init(name: String, incarnation: IncarnationID, startedAt: WallTime) {
            self.name = name
            self.incarnation = incarnation
            self.startedAt = startedAt
        }
    }

    /// How the process's configuration differs from its configuration file, as of the last reload.
    package struct Configuration: Equatable, Sendable {
        /// The refusal of the last reload; `nil` if that was accepted, or if there was none.
        package var refusal: Refusal?
        /// The changed parts of the file that need a restart, as the file names them.
        package var waitingParts: [String]

        package init(refusal: Refusal? = nil, waitingParts: [String] = []) {
            self.refusal = refusal
            self.waitingParts = waitingParts
        }

        /// Why a reload changed nothing.
        package struct Refusal: Equatable, Sendable {
            package var at: WallTime
            /// The code in the log, such as `config_invalid`.
            package var code: String
            /// For the operator; at least one.
            package var faults: [String]

            package init(at: WallTime, code: String, faults: [String]) {
                self.at = at
                self.code = code
                self.faults = faults
            }
        }
    }

    /// Where tokens are kept.
    package struct Store: Equatable, Sendable {
        /// As the configuration names it: `sqlite`, `memory`, `postgres`, `redis`, `migrating`, `mirroring`.
        package var driver: String
        /// Whether its records can be read.
        package var isOpen: Bool
        /// What its server said last; `nil` if it has none.
        package var server: Server?

        /// How far a move to another store is; `nil` if there is none.
        package var move: Move?
        /// The copies of the store.
        package var mirrors: [Mirror]

        package init(
            driver: String,
            isOpen: Bool,
            server: Server? = nil,
            move: Move? = nil,
            mirrors: [Mirror] = []
        ) {
            self.driver = driver
            self.isOpen = isOpen
            self.server = server
            self.move = move
            self.mirrors = mirrors
        }

        /// A move to another store.
        package struct Move: Equatable, Sendable {
            /// `waiting`, `leaving`, `moving` or `done`.
            package var state: String
            /// The records that this process has moved.
            package var moved: Int

            package init(state: String, moved: Int) {
                self.state = state
                self.moved = moved
            }
        }

        /// A copy of the store.
        package struct Mirror: Equatable, Sendable {
            package var name: String
            /// `up_to_date`, `behind`, `promoted` or `refused`.
            package var state: String
            /// When it last was known to have all records.
            package var completeAt: WallTime?

            package init(name: String, state: String, completeAt: WallTime?) {
                self.name = name
                self.state = state
                self.completeAt = completeAt
            }
        }

        /// The state of a store's server.
        package struct Server: Equatable, Sendable {
            /// Whether each acknowledged write is on a synchronous standby.
            package var isReplicated: Bool
            /// Whether a failover then loses none.
            package var losesNothing: Bool
            /// How many synchronous standbys are connected; `nil` if that can't be seen.
            package var connectedReplicas: Int?
            /// How far this host's wall clock is behind the server's.
            package var clockOffset: Duration

            package init(isReplicated: Bool, losesNothing: Bool, connectedReplicas: Int?, clockOffset: Duration) {
                self.isReplicated = isReplicated
                self.losesNothing = losesNothing
                self.connectedReplicas = connectedReplicas
                self.clockOffset = clockOffset
            }
        }
    }

    /// One place where callers connect.
    package struct Listener: Equatable, Sendable {
        /// Such as `127.0.0.1:8080`.
        package var address: String
        /// Whether connections are accepted there.
        package var isBound: Bool

        package init(address: String, isBound: Bool) {
            self.address = address
            self.isBound = isBound
        }
    }
}

/// Reports facts about the process that the admin API can't see itself. The program that assembles the gateway
/// implements it.
package protocol GatewayMonitor: Sendable {
    /// The current state of the process. Must return within about a second, even if the store is out of reach.
    func vitals() async -> GatewayVitals

    /// The metrics of the process, in the Prometheus text format.
    func metrics() async -> MetricsText

    /// What the process did within its last hour.
    func history() async -> GatewayHistory
}

/// Metrics, ready to be sent.
package struct MetricsText: Sendable {
    /// The text's media type, format version and charset.
    package let contentType: String
    package let text: String

    package init(contentType: String, text: String) {
        self.contentType = contentType
        self.text = text
    }
}
