package import TokenModel

/// What a process is and whether it can serve callers.
package struct GatewayVitals: Equatable, Sendable {
    /// Of the program.
    package var version: String
    /// Who answers.
    package var replica: Replica
    /// Whether accounts can be read.
    package var store: Store
    /// Where callers connect.
    package var listeners: [Listener]
    /// Whether the kill log was read lately enough for tokens to be put into requests.
    package var isLeaseHeld: Bool
    /// Whether it has closed its listeners on purpose, and ends when its last requests have.
    package var isStopping: Bool
    /// What came of its last reload.
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

    /// At least one, and all.
    package var areListenersBound: Bool { !self.listeners.isEmpty && self.listeners.allSatisfy(\.isBound) }
}

extension GatewayVitals {
    /// The answering process among those that share a store.
    package struct Replica: Equatable, Sendable {
        /// Only shown.
        package var name: String
        /// New with each start.
        package var incarnation: IncarnationID
        /// By the wall clock.
        package var startedAt: WallTime

        package init(name: String, incarnation: IncarnationID, startedAt: WallTime) {
            self.name = name
            self.incarnation = incarnation
            self.startedAt = startedAt
        }
    }

    /// How what the process goes by stands to its configuration file, as it was when a reload read it last.
    package struct Configuration: Equatable, Sendable {
        /// Of the last reload; `nil` where that was taken, or there was none.
        package var refusal: Refusal?
        /// What was changed in the file and waits for a restart, as the file names it.
        package var waitingParts: [String]

        package init(refusal: Refusal? = nil, waitingParts: [String] = []) {
            self.refusal = refusal
            self.waitingParts = waitingParts
        }

        /// Why a reload has changed nothing.
        package struct Refusal: Equatable, Sendable {
            package var at: WallTime
            /// As the log has it, such as `config_invalid`.
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
        /// As the configuration names it: `sqlite`, `memory`.
        package var driver: String
        /// Whether its records can be read.
        package var isOpen: Bool

        package init(driver: String, isOpen: Bool) {
            self.driver = driver
            self.isOpen = isOpen
        }
    }

    /// One place where callers connect.
    package struct Listener: Equatable, Sendable {
        /// Such as `127.0.0.1:8080`.
        package var address: String
        /// Whether connections are taken there.
        package var isBound: Bool

        package init(address: String, isBound: Bool) {
            self.address = address
            self.isBound = isBound
        }
    }
}

/// Tells the admin API about the process what it can't see itself: the program's assembly knows it.
package protocol GatewayMonitor: Sendable {
    /// How the process is at the moment. Must come back within a second or so, also with the store away.
    func vitals() async -> GatewayVitals

    /// What the process has counted, as Prometheus reads it.
    func metrics() async -> MetricsText
}

/// Metrics, ready to be sent.
package struct MetricsText: Sendable {
    /// Of the text: media type, version of the format, charset.
    package let contentType: String
    package let text: String

    package init(contentType: String, text: String) {
        self.contentType = contentType
        self.text = text
    }
}
