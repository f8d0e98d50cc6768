internal import LocalFiles
package import Logging

/// Who gets how many of the file descriptors that the process may hold.
///
/// Callers come in any number, so they are the ones who must not get them all: the store, providers and operators need some
/// when there are none left for one caller more. So does the runtime: Dispatch reads files of `/proc` to count its
/// threads, and ends the process where it can't open one.
package struct DescriptorBudget: Equatable, Sendable {
    /// Callers' connections at once.
    package let connections: Int
    /// An operators' listener's connections at once.
    package let operators: Int

    /// - Parameters:
    ///   - wanted: callers' connections that are configured.
    ///   - limit: descriptors that the process may hold; `nil` where that is not known.
    ///   - used: those it holds before it listens.
    ///   - eventLoops: of callers; each needs a few for itself.
    ///   - listeners: addresses of callers.
    package init(wanted: Int, limit: Int?, used: Int, eventLoops: Int, listeners: Int) {
        guard let limit else {
            self.connections = wanted
            self.operators = Self.mostOperators
            return
        }
        // A selector, its wake-up and its timer; and a listening socket per address. Three more loops are the operators', with their socket.
        let house = used + eventLoops * (3 + listeners) + 3 * 4
        // A quarter for each of: operators, metrics, providers with their names' lookups, and connections turned away or
        // just being made.
        let reserve = min(max(limit / 8, 64), 4 * Self.mostOperators)
        self.operators = min(reserve / 4, Self.mostOperators)
        // Each may need another one to an upstream.
        self.connections = min(wanted, max((limit - house - reserve) / 2, 1))
    }

    private static let mostOperators = 512
}

extension DescriptorBudget {
    /// Fewer connections than most gateways need.
    private static let few = 256

    /// Says so where the process can't hold as many as it was to.
    ///
    /// - Parameter isNamed: whether somebody has asked for so many, and is warned; the default gives way, as it is to, and
    ///   somebody is warned only where that leaves few.
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

/// What a process had of file descriptors when it began to listen; each configuration gets its share out of it.
struct DescriptorRoom: Sendable {
    /// As ``DescriptorBudget`` takes them.
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
