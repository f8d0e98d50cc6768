package import Logging
internal import SystemSupport

/// Divides the file descriptors that the process may open.
///
/// The number of callers is unlimited, so callers must not get all descriptors. The store, providers and operators need
/// some even if no descriptor is left for another caller. The runtime needs some too: Dispatch reads files in `/proc`
/// to count its threads, and it terminates the process if it can't open one.
package struct DescriptorBudget: Equatable, Sendable {
    /// The maximum number of concurrent caller connections.
    package let connections: Int
    /// The maximum number of concurrent connections of each operators' listener.
    package let operators: Int

    /// - Parameters:
    ///   - wanted: the configured number of caller connections.
    ///   - limit: the process's descriptor limit; `nil` if it is not known.
    ///   - used: the descriptors in use before the listeners are opened.
    ///   - eventLoops: the number of event loops for callers; each needs a few descriptors for itself.
    ///   - listeners: the number of listening addresses for callers.
    package init(wanted: Int, limit: Int?, used: Int, eventLoops: Int, listeners: Int) {
        guard let limit else {
            self.connections = wanted
            self.operators = Self.mostOperators
            return
        }
        // Per loop: a selector, its wake-up and its timer, and a listening socket per address. Three more loops serve
        // the operators, including their socket.
        let house = used + eventLoops * (3 + listeners) + 3 * 4
        // A quarter each for: operators, metrics, providers including their name lookups, and connections that are
        // being accepted or rejected.
        let reserve = min(max(limit / 8, 64), 4 * Self.mostOperators)
        self.operators = min(reserve / 4, Self.mostOperators)
        // Each caller connection may need another one to an upstream.
        self.connections = min(wanted, max((limit - house - reserve) / 2, 1))
    }

    private static let mostOperators = 512
}

extension DescriptorBudget {
    /// A number of connections that is too small for most gateways.
    private static let few = 256

    /// Logs that the process allows fewer connections than configured.
    ///
    /// - Parameter isNamed: whether the file sets the number; then the message is a warning. For the default number the
    ///   message is only informational, unless few connections are left.
    package func report(wanted: Int, isNamed: Bool, to logger: Logger) {
        guard self.connections < wanted else { return }
        let limit: Int = DescriptorLimit.current ?? 0
        let facts: Logger.Metadata = [
            "connections.limit": .stringConvertible(self.connections), "descriptors.limit": .stringConvertible(limit),
        ]
        if isNamed || self.connections < Self.few {
            logger.warning(
                """
                fewer connections are taken than limits.connections allows: the process may hold too few descriptors; \
                raise its hard limit with ulimit -n, Docker's --ulimit nofile or systemd's LimitNOFILE, or lower \
                limits.connections
                """,
                metadata: facts
            )
        } else {
            logger.info(
                """
                fewer connections are taken than by default: the process may hold too few descriptors for that; to have \
                more, raise its hard limit with ulimit -n, Docker's --ulimit nofile or systemd's LimitNOFILE
                """,
                metadata: facts
            )
        }
    }
}

/// The descriptor numbers of the process when it began to listen. Every configuration's budget is computed from them.
struct DescriptorUsage: Sendable {
    /// As the parameters of ``DescriptorBudget``.
    let limit: Int?
    let used: Int
    let eventLoops: Int
    let listeners: Int

    func budget(wanted: Int) -> DescriptorBudget {
        DescriptorBudget(
            wanted: wanted,
            limit: self.limit,
            used: self.used,
            eventLoops: self.eventLoops,
            listeners: self.listeners
        )
    }
}
