/// Why a connection is not served further. Nobody is told: the connection closes.
enum WireFault: Error {
    /// A request was up for an answer without a head having been read.
    case noHead

    /// The connection was closed on purpose.
    case hungUp
}
